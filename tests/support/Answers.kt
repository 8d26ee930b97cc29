// All that a translator on a JVM gives: for each line, a text as JSON, prints a line of JSON with the
// hypotheses of each search, and the sizes of a text that is too long.
//
//   java -Djava.library.path=DIR -cp ... AnswersKt MODEL.tflite PREFIX < texts

import translation.LiteRtJni
import translation.TfliteFile
import translation.TooLong
import translation.Translation
import translation.Translator
import translation.parseJson
import translation.writeJson

private fun shown(one: Translation) =
    mapOf("text" to one.text, "score" to one.score, "finished" to one.finished, "target_tokens" to one.tokens) +
        mapOf("source_tokens" to one.sourceTokens, "alignment" to one.alignment)

private fun Translator.answer(text: String, prefix: String): Any =
    try {
        mapOf("best" to listOf(translate(text)), "greedy" to listOf(translateGreedy(text)))
            .plus(mapOf("nbest" to suggest(text), "three" to suggest(text, 3), "begun" to suggest(text, most, prefix)))
            .mapValues { (_, list) -> list.map(::shown) }
    } catch (error: TooLong) {
        mapOf("tokens" to error.tokens, "longest" to error.longest)
    }

fun main(arguments: Array<String>) {
    val file = TfliteFile.read(arguments[0])
    Translator(file, LiteRtJni(file.content)).use { translator ->
        for (line in generateSequence(::readLine)) {
            println(writeJson(translator.answer(parseJson(line) as String, arguments[1])))
        }
    }
}
