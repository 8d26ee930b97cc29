// Prints everything that a translator on a JVM returns. For each line, a text as JSON, it prints a line of
// JSON with the hypotheses of each search, or the sizes of a text that is too long. Without a prefix, it
// runs only the main search.
//
//   java -Djava.library.path=DIR -cp ... AnswersKt MODEL.tflite [PREFIX] < texts

import translation.LiteRtJni
import translation.TfliteFile
import translation.TooLong
import translation.Translation
import translation.Translator
import translation.parseJson
import translation.writeJson

private fun shown(one: Translation) =
    mapOf("text" to one.text, "score" to one.score, "confidence" to one.confidence, "finished" to one.finished) +
        mapOf("tokens" to one.tokens, "token_log_probs" to one.tokenLogProbs) +
        mapOf("token_entropies" to one.tokenEntropies, "token_words" to one.tokenWords) +
        mapOf("source_tokens" to one.sourceTokens, "alignment" to one.alignment)

private fun Translator.searches(text: String, prefix: String) =
    mapOf("best" to listOf(translate(text)), "greedy" to listOf(translateGreedy(text))) +
        mapOf("nbest" to suggest(text), "three" to suggest(text, 3), "begun" to suggest(text, most, prefix))

private fun Translator.answer(text: String, prefix: String?): Any =
    try {
        val found = if (prefix == null) mapOf("best" to listOf(translate(text))) else searches(text, prefix)
        found.mapValues { (_, list) -> list.map(::shown) }
    } catch (error: TooLong) {
        mapOf("tokens" to error.tokens, "longest" to error.longest)
    }

fun main(arguments: Array<String>) {
    val file = TfliteFile.read(arguments[0])
    Translator(file, LiteRtJni(file.content)).use { translator ->
        for (line in generateSequence(::readLine)) {
            println(writeJson(translator.answer(parseJson(line) as String, arguments.getOrNull(1))))
        }
    }
}
