// Compares the Kotlin implementation of SentencePiece with a conformance file. Prints the number of cases
// and, as JSON, the first few that differ.
//
//   java -cp ... ConformanceKt FILE.json

import java.io.File
import java.util.Base64
import translation.SentencePiece
import translation.parseJson
import translation.writeJson

private val wrong = mutableListOf<Map<String, Any?>>()

private fun hold(kind: String, name: Any?, given: Any?, received: Any?, expected: Any?) {
    if (received == expected) return
    wrong += mapOf("kind" to kind, "name" to name, "given" to given, "received" to received, "expected" to expected)
}

private fun Any?.field(name: String): Any? = (this as Map<*, *>)[name]

private fun Any?.ids(): List<Int> = (this as List<*>).map { (it as Long).toInt() }

private fun decoded(text: Any?): ByteArray = Base64.getDecoder().decode(text as String)

fun main(arguments: Array<String>) {
    var (encodings, decodings) = 0 to 0
    for (one in parseJson(File(arguments[0]).readText()).field("vocabularies") as List<*>) {
        val vocabulary = SentencePiece(decoded(one.field("model")))
        for (row in one.field("encodings") as List<*>) {
            val text = row.field("text") as String?
            val bytes = row.field("bytes")
            val found = if (text != null) vocabulary.encode(text) else vocabulary.encode(decoded(bytes))
            hold("encodings", one.field("name"), text ?: bytes, found.asList(), row.field("ids").ids())
            ++encodings
        }
        for (row in one.field("decodings") as List<*>) {
            val ids = row.field("ids").ids()
            hold("decodings", one.field("name"), ids, vocabulary.decode(ids.toIntArray()), row.field("text"))
            ++decodings
        }
    }
    val counts = mapOf("encodings" to encodings, "decodings" to decodings)
    println(writeJson(counts + mapOf("wrong" to wrong.size, "first" to wrong.take(5))))
}
