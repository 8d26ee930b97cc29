// Translates with one .tflite file: a line in, a line out.

package translation

import java.io.FileDescriptor
import java.io.FileOutputStream
import java.io.IOException
import java.io.InputStream
import java.math.BigDecimal
import java.math.RoundingMode
import java.nio.ByteBuffer
import java.nio.charset.CodingErrorAction
import kotlin.system.exitProcess

private const val HELP =
    """usage: java -jar translate.jar [--greedy | [--nbest K] [--prefix TEXT]] [--threads N] [--json]
                               MODEL.tflite [SENTENCE...]

Translates the sentences of the command line or, without any, of standard input in UTF-8: a line in,
a line out; a blank line gives an empty one.

  --greedy       no beam search: faster, a little worse
  --nbest K      print the K best texts of each input as 'number ||| text ||| score'
  --prefix TEXT  what each text begins with
  --threads N    processor threads, 1 by default
  --json         print a line of JSON for each input: texts, scores, confidences, tokens

Exit codes: 0 all is translated; 2 the command line, the model or the input is wrong.
"""
private const val MOST_BYTES = 1 shl 20 // of one line of input
private const val MOST = 1024 // threads, or texts of a list

private class Options(val arguments: List<String>) {
    val places = mutableListOf<String>() // the model and the inputs
    var greedy = false
    var json = false
    var help = false
    var nbest: Int? = null
    var prefix = ""
    var threads = 1

    init {
        val left = ArrayDeque(arguments)
        var named = true // until "--"
        while (left.isNotEmpty()) {
            val one = left.removeFirst()
            if (!named || one.length < 2 || !one.startsWith("-")) places += one
            else if (one == "--") named = false
            else read(one, left)
        }
        if (!help) check()
    }

    private fun read(one: String, left: ArrayDeque<String>) {
        val name = one.substringBefore('=')
        val value = { if ('=' in one) one.substringAfter('=') else left.removeFirstOrNull() ?: throw unknown(one) }
        when {
            one in setOf("--help", "-h") -> help = true
            one == "--greedy" -> greedy = true
            one == "--json" -> json = true
            name == "--nbest" -> nbest = number(name, value())
            name == "--threads" -> threads = number(name, value())
            name == "--prefix" -> prefix = value()
            else -> throw unknown(one)
        }
    }

    private fun unknown(one: String) =
        InputError("An option must be known. Received: ${quoted(shortened(one))}. See --help.")

    private fun number(name: String, text: String): Int =
        text.toIntOrNull()?.takeIf { it in 1..MOST }
            ?: throw InputError(
                "$name must be an integer from 1 to 1,024. Received: ${quoted(shortened(text))}. Give another one."
            )

    private fun check() {
        // A JVM that runs without UTF-8 has lost the characters of its command line.
        arguments.firstOrNull { '\ufffd' in it }?.let {
            throw InputError(
                "The command line must be UTF-8. Received: ${quoted(shortened(it))}. Run it with LC_ALL=C.UTF-8."
            )
        }
        if (greedy && (nbest != null || prefix.isNotEmpty())) {
            throw InputError(
                "--nbest and --prefix need the search, which --greedy leaves out. Received: --greedy beside " +
                    "them. Leave it out."
            )
        }
        if (places.isEmpty()) throw InputError("The command line must name a model. Received: none. See --help.")
    }
}

/** The lines of a stream with their names in errors, without their ends. */
private fun lines(stream: InputStream) = sequence {
    val line = java.io.ByteArrayOutputStream()
    var number = 1
    while (true) {
        var next = stream.read()
        while (next >= 0 && line.size() <= MOST_BYTES) {
            line.write(next)
            if (next == '\n'.code) break
            next = stream.read()
        }
        if (line.size() > MOST_BYTES) {
            throw InputError(
                "A line must have at most 1,048,576 bytes. Received: line $number, which has more. Split it."
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

private fun withoutEnd(line: String): String = line.removeSuffix("\n").removeSuffix("\r")

/** Four decimals of a float32, as C and Python print them. */
private fun fourDecimals(score: Float): String {
    if (!score.isFinite()) return score.toString()
    val text = BigDecimal(score.toDouble()).setScale(4, RoundingMode.HALF_EVEN).toPlainString()
    return if (score.toRawBits() < 0 && !text.startsWith("-")) "-$text" else text
}

/** All that is known of a text, under the names of `keras-bahdanau translate --json`. */
private fun fields(one: Translation): Map<String, Any?> =
    mapOf("text" to one.text, "score" to one.score, "confidence" to one.confidence, "finished" to one.finished) +
        mapOf("tokens" to one.tokens, "token_log_probs" to one.tokenLogProbs) +
        mapOf("token_entropies" to one.tokenEntropies, "token_words" to one.tokenWords)

/** The lines of an input; with --json one, {"hypotheses": [{"text": "...", "score": -0.5, ...}]}. */
private fun shown(found: List<Translation>, number: Int, options: Options): List<String> =
    when {
        options.json -> listOf(writeJson(mapOf("hypotheses" to found.map(::fields))))
        options.nbest != null -> found.map { "$number ||| ${it.text} ||| ${fourDecimals(it.score)}" }
        else -> found.map { it.text }
    }

private fun run(options: Options, output: java.io.Writer) {
    val file = TfliteFile.read(options.places[0])
    Translator(file, LiteRtJni(file.content, options.threads)).use { translator ->
        val nbest = options.nbest ?: 1
        if (options.greedy) translator.checkGreedy() else translator.checkList(nbest, options.prefix)
        val sentences = options.places.drop(1).mapIndexed { index, text -> "sentence ${index + 1}" to withoutEnd(text) }
        val inputs = if (sentences.isEmpty()) lines(System.`in`.buffered()) else sentences.asSequence()
        inputs.forEachIndexed { number, (name, text) ->
            try {
                val found =
                    if (options.greedy) listOf(translator.translateGreedy(text))
                    else translator.suggest(text, nbest, options.prefix)
                shown(found, number, options).forEach { output.write("$it\n") }
            } catch (error: TooLong) {
                throw InputError("$name: ${error.message}")
            }
            output.flush()
        }
    }
}

/** Print an error in one line; returns the exit code. */
private fun complain(message: String): Int {
    val errors = FileOutputStream(FileDescriptor.err).writer()
    errors.write("error: ${message.split(Regex("\\s+")).joinToString(" ")}\n")
    errors.flush()
    return 2
}

/** The program; returns its exit code. */
private fun main(arguments: List<String>): Int {
    val output = FileOutputStream(FileDescriptor.out).writer().buffered()
    try {
        val options = Options(arguments)
        if (options.help) output.write(HELP) else run(options, output)
        output.flush()
        return 0
    } catch (error: InputError) {
        return complain(error.message.orEmpty())
    } catch (error: UnsatisfiedLinkError) {
        return complain(
            "libtranslation_litert.so must lie in java.library.path. Received: ${error.message}. Run it with " +
                "-Djava.library.path=DIRECTORY."
        )
    } catch (error: IOException) {
        if (error.message == "Broken pipe") return 141 // the reader has gone, as `head` does
        return complain(
            "Standard input must be readable, and standard output must take all lines. Received: " +
                "${error.message}. Make room, or redirect another file."
        )
    }
}

fun main(arguments: Array<String>) {
    exitProcess(main(arguments.asList()))
}
