// Shares a translator between threads. Prints how many of 2,000 answers equal those of a single thread.
//
//   java -Djava.library.path=DIR -cp ... ThreadsKt MODEL.tflite WORD...

import java.util.concurrent.Callable
import java.util.concurrent.Executors
import translation.LiteRtJni
import translation.TfliteFile
import translation.Translator

fun main(arguments: Array<String>) {
    val (file, words) = TfliteFile.read(arguments[0]) to arguments.drop(1)
    Translator(file, LiteRtJni(file.content)).use { translator ->
        fun answer(number: Int): List<String> {
            val word = words[number % words.size]
            return if (number % 2 == 0) listOf(translator.translate(word).text)
            else translator.suggest(word, 2).map { it.text }
        }
        val alone = List(2 * words.size, ::answer)
        val threads = Executors.newFixedThreadPool(8)
        val answers = threads.invokeAll(List(2000) { Callable { answer(it) } }).map { it.get() }
        threads.shutdown()
        println(answers.withIndex().count { (number, texts) -> texts == alone[number % alone.size] })
    }
}
