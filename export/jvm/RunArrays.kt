// Runs a .tflite file of a Keras model: reads lines of JSON, and prints a line of JSON for each.

package translation

import java.io.Writer
import kotlin.system.exitProcess

private const val HELP =
    """usage: java -cp translate.jar translation.RunArraysKt [--signature NAME | --stream] [--threads N] MODEL.tflite

Runs a Keras model that export_litert wrote. A line of standard input is a request, a JSON object with
nested lists of numbers for each input; a line of standard output is its answer, with nested lists for
each output:

  {"ids": [[4, 8, 15]]}  ->  {"mood": [[0.25, 0.75]]}

Integers outside of the range of an input are the nearest ones inside. NaN and infinite outputs are null.

  --signature NAME  signature to run, the first of the export by default
  --stream          run `step`: states start at zero and are kept from line to line
  --threads N       processor threads, 1 by default

Exit codes: 0 all is answered; 2 the command line, the model or a request is wrong.
"""
private const val MOST_BYTES = 1 shl 22 // limit for a line of input

private class ArrayOptions(arguments: List<String>) {
    var model: String? = null
    var signature: String? = null
    var streams = false
    var help = false
    var threads = 1

    init {
        val left = ArrayDeque(arguments)
        while (left.isNotEmpty()) read(left.removeFirst(), left)
        if (!help) check(arguments)
    }

    private fun read(one: String, left: ArrayDeque<String>) {
        val name = one.substringBefore('=')
        val value = { valueOf(one, left) }
        when {
            one in setOf("--help", "-h") -> help = true
            one == "--stream" -> streams = true
            name == "--threads" -> threads = parseNumber(name, value())
            name == "--signature" -> signature = value()
            one.startsWith("-") || model != null ->
                throw InputError(
                    "The command line must be known options and one model. Received: ${quoted(shortened(one))}. " +
                        "See --help."
                )
            else -> model = one
        }
    }

    private fun check(arguments: List<String>) {
        checkUtf8(arguments)
        if (streams && signature != null) {
            throw InputError(
                "--stream runs the signature step. Received: --signature with it. Leave one out."
            )
        }
        if (model == null) throw InputError("The command line must name a model. Received: none. See --help.")
    }
}

private fun run(options: ArrayOptions, output: Writer) {
    val file = TfliteFile.read(options.model!!, Use.ARRAYS)
    ArrayModel(file) { ArrayRunnerJni(file.content, it, options.threads) }.use { model ->
        val signature = options.signature ?: model.signatures.first()
        val answer = if (options.streams) model.stream() else ({ inputs: Map<*, *> -> model.run(inputs, signature) })
        model.check(if (options.streams) "step" else signature)
        for ((name, line) in lines(System.`in`.buffered(), MOST_BYTES)) {
            try {
                output.write("${writeJson(answer(request(line)))}\n")
            } catch (error: InputError) {
                throw InputError("$name: ${error.message}")
            }
            output.flush()
        }
    }
}

private fun request(line: String): Map<*, *> {
    val value =
        try {
            parseJson(line)
        } catch (error: IllegalArgumentException) {
            null
        }
    return value as? Map<*, *>
        ?: throw InputError(
            "A request must be a JSON object of an array for each input. Received: ${quoted(shortened(line))}."
        )
}

fun main(arguments: Array<String>) {
    exitProcess(
        program { output ->
            val options = ArrayOptions(arguments.asList())
            if (options.help) output.write(HELP) else run(options, output)
        }
    )
}
