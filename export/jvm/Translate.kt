// Translates with one .tflite file, line by line.

package translation

import java.math.BigDecimal
import java.math.RoundingMode
import kotlin.system.exitProcess

private const val HELP =
    """usage: java -cp translate.jar translation.TranslateKt [--greedy | [--nbest K] [--prefix TEXT]] [--threads N]
                               [--json] MODEL.tflite [SENTENCE...]

Translates the sentences of the command line or, without any, of standard input in UTF-8: a line in,
a line out; a blank line gives an empty one.

  --greedy       no beam search: faster, a little worse
  --nbest K      print the K best texts of each input as 'number ||| text ||| score'
  --prefix TEXT  what each text begins with
  --threads N    processor threads, 1 by default
  --json         print a line of JSON for each input: texts, scores, confidences, tokens

Exit codes: 0 all is translated; 2 the command line, the model or the input is wrong.
"""
private const val MOST_BYTES = 1 shl 20 // limit for a line of input

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
        val value = { valueOf(one, left) }
        when {
            one in setOf("--help", "-h") -> help = true
            one == "--greedy" -> greedy = true
            one == "--json" -> json = true
            name == "--nbest" -> nbest = parseNumber(name, value())
            name == "--threads" -> threads = parseNumber(name, value())
            name == "--prefix" -> prefix = value()
            else -> throw unknownOption(one)
        }
    }

    private fun check() {
        checkUtf8(arguments)
        if (greedy && (nbest != null || prefix.isNotEmpty())) {
            throw InputError(
                "--nbest and --prefix need the search, which --greedy leaves out. Received: --greedy with " +
                    "them. Leave it out."
            )
        }
        if (places.isEmpty()) throw InputError("The command line must name a model. Received: none. See --help.")
    }
}

/** Format a float32 with four decimals, as C and Python do. */
private fun fourDecimals(score: Float): String {
    if (!score.isFinite()) return score.toString()
    val text = BigDecimal(score.toDouble()).setScale(4, RoundingMode.HALF_EVEN).toPlainString()
    return if (score.toRawBits() < 0 && !text.startsWith("-")) "-$text" else text
}

/** Return all fields of a translation, with the names in `keras-bahdanau translate --json`. */
private fun fields(one: Translation): Map<String, Any?> =
    mapOf("text" to one.text, "score" to one.score, "confidence" to one.confidence, "finished" to one.finished) +
        mapOf("tokens" to one.tokens, "token_log_probs" to one.tokenLogProbs) +
        mapOf("token_entropies" to one.tokenEntropies, "token_words" to one.tokenWords)

/** Return the lines for an input; with --json a single one, {"hypotheses": [{"text": "...", "score": -0.5, ...}]}. */
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
        val inputs = if (sentences.isEmpty()) lines(System.`in`.buffered(), MOST_BYTES) else sentences.asSequence()
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

fun main(arguments: Array<String>) {
    exitProcess(
        program { output ->
            val options = Options(arguments.asList())
            if (options.help) output.write(HELP) else run(options, output)
        }
    )
}
