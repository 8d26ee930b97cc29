// Loads files whose seal fits but whose bytes are others: prints "read" or "refused" for each, and ends
// with an error of Java's if anything but InputError comes.
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
