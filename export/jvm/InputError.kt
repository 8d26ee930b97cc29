// Errors for invalid input, and functions that quote texts in them.

package translation

private const val SHOWN = 80 // number of characters of a text to show in an error

/** Error for a wrong command line, model or text, with a one-line message. */
open class InputError(message: String) : IllegalArgumentException(message)

/** Error for a text or prefix with more tokens than the file allows. */
class TooLong(message: String, val tokens: Int, val longest: Int) : InputError(message)

/** Return the beginning of a text. */
internal fun shortened(text: String): String {
    val characters = minOf(SHOWN, text.codePointCount(0, text.length))
    return text.substring(0, text.offsetByCodePoints(0, characters))
}

/** Quote a text, and escape unprintable characters, like Python's `repr`. */
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
