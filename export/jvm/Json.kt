// Reads and writes JSON as far as cards and programs need it, including NaN and Infinity, which Python writes.

package translation

import java.util.Locale

private const val DEEPEST = 100 // maximum nesting of arrays and objects

/**
 * Parse JSON to a Map, List, String, Long, Double, Boolean or null.
 *
 * Throws IllegalArgumentException if the text is not valid JSON.
 */
fun parseJson(text: String): Any? = JsonReader(text).whole()

private class JsonReader(private val text: String) {
    private var place = 0

    fun whole(): Any? {
        val value = value(0)
        space()
        require(place == text.length) { wrong("the end") }
        return value
    }

    private fun value(depth: Int): Any? {
        require(depth <= DEEPEST) { "JSON must have at most $DEEPEST arrays or objects inside others" }
        space()
        return when (text.getOrNull(place)) {
            '{' -> buildMap<String, Any?> { items('}') { put(key(), value(depth + 1)) } }
            '[' -> buildList<Any?> { items(']') { add(value(depth + 1)) } }
            '"' -> string()
            't' -> word("true", true)
            'f' -> word("false", false)
            'n' -> word("null", null)
            'N' -> word("NaN", Double.NaN)
            'I' -> word("Infinity", Double.POSITIVE_INFINITY)
            else -> number()
        }
    }

    private fun word(name: String, value: Any?): Any? {
        require(accept(name)) { wrong("a value") }
        return value
    }

    /** Read items, with commas between them, up to the closing bracket. */
    private fun items(close: Char, item: () -> Unit) {
        ++place
        space()
        if (accept(close.toString())) return
        do {
            item()
            space()
        } while (accept(","))
        expect(close)
    }

    private fun key(): String {
        space()
        val key = string()
        space()
        expect(':')
        return key
    }

    private fun string(): String = buildString {
        expect('"')
        while (true) {
            val one = text.getOrNull(place++) ?: throw IllegalArgumentException(wrong("a quote"))
            when {
                one == '"' -> return@buildString
                one < ' ' -> throw IllegalArgumentException(wrong("no control character"))
                one == '\\' -> append(escaped())
                else -> append(one)
            }
        }
    }

    private fun escaped(): Char {
        val one = text.getOrNull(place++)
        if (one != 'u') return ESCAPES[one] ?: throw IllegalArgumentException(wrong("an escape"))
        val digits = text.substring(place, minOf(place + 4, text.length))
        require(digits.matches(HEXADECIMAL)) { wrong("four digits") }
        place += 4
        return digits.toInt(16).toChar()
    }

    private fun number(): Any {
        if (accept("-Infinity")) return Double.NEGATIVE_INFINITY
        val found = NUMBER.matchAt(text, place)?.value
        require(found != null) { wrong("a value") }
        place += found.length
        return found.toLongOrNull() ?: found.toDouble()
    }

    private fun space() {
        while (place < text.length && text[place] in " \t\r\n") ++place
    }

    private fun accept(word: String): Boolean {
        val there = text.startsWith(word, place)
        if (there) place += word.length
        return there
    }

    private fun expect(one: Char) = require(accept(one.toString())) { wrong("'$one'") }

    private fun wrong(what: String) = "JSON must have $what at character $place"

    private companion object {
        val ESCAPES =
            mapOf('"' to '"', '\\' to '\\', '/' to '/', 'b' to '\b', 'f' to '\u000c') +
                mapOf('n' to '\n', 'r' to '\r', 't' to '\t')
        val HEXADECIMAL = Regex("[0-9a-fA-F]{4}")
        val NUMBER = Regex("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?")
    }
}

/** Write a value as JSON on one line: a result of `parseJson`, any number, or an array of numbers. */
fun writeJson(value: Any?): String =
    when (value) {
        is String -> value.asSequence().joinToString("", "\"", "\"", transform = ::escape)
        is Map<*, *> ->
            value.entries.joinToString(", ", "{", "}") { (key, one) ->
                "${writeJson(key.toString())}: ${writeJson(one)}"
            }
        is Iterable<*> -> value.joinToString(", ", "[", "]", transform = ::writeJson)
        is FloatArray -> writeJson(value.asList())
        is IntArray -> writeJson(value.asList())
        is Float -> if (value.isFinite()) value.toString() else "null"
        is Double -> if (value.isFinite()) value.toString() else "null"
        else -> value.toString()
    }

private fun escape(one: Char): CharSequence =
    when {
        one == '"' || one == '\\' -> "\\$one"
        one < ' ' -> "\\u%04x".format(Locale.ROOT, one.code)
        else -> one.toString()
    }
