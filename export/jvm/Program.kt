// The command line of the programs: options, lines of standard input, one-line errors, exit codes.

package translation

import java.io.FileDescriptor
import java.io.FileOutputStream
import java.io.IOException
import java.io.InputStream
import java.io.Writer
import java.nio.ByteBuffer
import java.nio.charset.CodingErrorAction
import java.util.Locale

private const val MOST = 1024 // limit for threads, and for texts in a list

internal fun unknownOption(one: String) =
    InputError("An option must be known. Received: ${quoted(shortened(one))}. See --help.")

/** Return the value of an option: the part after "=", or the next word. */
internal fun valueOf(option: String, left: ArrayDeque<String>): String =
    if ('=' in option) option.substringAfter('=') else left.removeFirstOrNull() ?: throw unknownOption(option)

/** Return the value of an integer option. */
internal fun parseNumber(name: String, text: String): Int =
    text.toIntOrNull()?.takeIf { it in 1..MOST }
        ?: throw InputError(
            "$name must be an integer from 1 to 1,024. Received: ${quoted(shortened(text))}. Use another number."
        )

/** Throw InputError if the JVM runs without UTF-8 and has lost characters of its command line. */
internal fun checkUtf8(arguments: List<String>) {
    arguments.firstOrNull { '\ufffd' in it }?.let {
        throw InputError(
            "The command line must be UTF-8. Received: ${quoted(shortened(it))}. Run it with LC_ALL=C.UTF-8."
        )
    }
}

/** Yield the lines of a stream without line endings, and their names in errors; `most` is the maximum in bytes. */
internal fun lines(stream: InputStream, most: Int): Sequence<Pair<String, String>> = sequence {
    val line = java.io.ByteArrayOutputStream()
    var number = 1
    while (true) {
        var next = stream.read()
        while (next >= 0 && line.size() <= most) {
            line.write(next)
            if (next == '\n'.code) break
            next = stream.read()
        }
        if (line.size() > most) {
            throw InputError(
                "A line must have at most ${"%,d".format(Locale.ROOT, most)} bytes. Received: line $number, which has " +
                    "more. Split it."
            )
        }
        if (line.size() == 0) break
        val text = decoded(line.toByteArray(), "line $number")
        yield("line $number" to if (number == 1) text.removePrefix("\ufeff") else text)
        line.reset()
        ++number
    }
}

private fun decoded(line: ByteArray, name: String): String {
    val bytes = ByteBuffer.wrap(line)
    val text = java.nio.CharBuffer.allocate(line.size)
    val decoder = Charsets.UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPORT)
    if (decoder.decode(bytes, text, true).isError) {
        throw InputError(
            "The input must be UTF-8. Received: $name, with the byte 0x${hexadecimal(bytes.get())} where UTF-8 " +
                "allows none. Convert it, with iconv for example."
        )
    }
    return withoutEnd(text.flip().toString())
}

internal fun withoutEnd(line: String): String = line.removeSuffix("\n").removeSuffix("\r")

/** Print an error on one line, and return the exit code. */
private fun complain(message: String): Int {
    val errors = FileOutputStream(FileDescriptor.err).writer()
    errors.write("error: ${message.split(Regex("\\s+")).joinToString(" ")}\n")
    errors.flush()
    return 2
}

/** Run an action with standard output, and return the exit code. */
internal fun program(action: (Writer) -> Unit): Int {
    val output = FileOutputStream(FileDescriptor.out).writer().buffered()
    try {
        action(output)
        output.flush()
        return 0
    } catch (error: InputError) {
        return complain(error.message.orEmpty())
    } catch (error: OutOfMemoryError) {
        return complain(
            "A request must fit in the memory of the JVM. Received: a larger one. Run it with a larger -Xmx."
        )
    } catch (error: UnsatisfiedLinkError) {
        return complain(
            "libtranslation_litert.so must be in java.library.path. Received: ${error.message}. Run it with " +
                "-Djava.library.path=DIRECTORY."
        )
    } catch (error: IOException) {
        if (error.message == "Broken pipe") return 141 // the reader has ended, as `head` does
        return complain(
            "Standard input must be readable, and standard output must accept all lines. Received: " +
                "${error.message}. Free some space, or redirect a different file."
        )
    }
}
