// Loads files with changed bytes and a valid seal. Prints "read" or "refused" for each, and ends with a
// Java exception if any error but InputError is thrown.
//
//   java -cp ... DamagedKt FILE.tflite...

import java.io.File
import java.nio.ByteBuffer
import translation.InputError
import translation.TfliteFile

fun main(arguments: Array<String>) {
    for (path in arguments) {
        try {
            val file = TfliteFile(path, ByteBuffer.wrap(File(path).readBytes()))
            for (side in listOf("source", "target")) {
                val vocabulary = file.vocabulary(side)
                vocabulary.decode(vocabulary.encode("one \u2603 two"))
                vocabulary.decode(IntArray(vocabulary.pieces.size) { it })
            }
            println("read")
        } catch (error: InputError) {
            println("refused")
        }
    }
}
