// Errors of the input, and texts as they show them.

package translation

private const val SHOWN = 80 // characters of a text in an error

/** The command line, the model or a text is wrong; `message` says it in one line. */
open class InputError(message: String) : IllegalArgumentException(message)

/** A text or a prefix of more tokens than the file takes. */
class TooLong(message: String, val tokens: Int, val longest: Int) : InputError(message)

/** The beginning of a text. */
internal fun shortened(text: String): String {
    val characters = minOf(SHOWN, text.codePointCount(0, text.length))
    return text.substring(0, text.offsetByCodePoints(0, characters))
}

/** A text in quotes, with escapes for what does not print, as Python's `repr`. */
internal fun quoted(text: String): String {
    val quote = if ('\'' in text && '"' !in text) '"' else '\''
    val shown = StringBuilder().append(quote)
    for (point in text.codePoints()) {
        when {
            point == quote.code || point == '\\'.code -> shown.append('\\').appendCodePoint(point)
            point in ESCAPES -> shown.append(ESCAPES[point])
            prints(point) -> shown.appendCodePoint(point)
            point < 0x100 -> shown.append("\\x%02x".format(point))
            point < 0x10000 -> shown.append("\\u%04x".format(point))
            else -> shown.append("\\U%08x".format(point))
        }
    }
    return shown.append(quote).toString()
}

private val ESCAPES = mapOf('\n'.code to "\\n", '\r'.code to "\\r", '\t'.code to "\\t")

private val BLANK =
    setOf(
        Character.CONTROL,
        Character.FORMAT,
        Character.SURROGATE,
        Character.PRIVATE_USE,
        Character.UNASSIGNED,
        Character.SPACE_SEPARATOR,
        Character.LINE_SEPARATOR,
        Character.PARAGRAPH_SEPARATOR,
    )

private fun prints(point: Int) = point == ' '.code || Character.getType(point).toByte() !in BLANK
