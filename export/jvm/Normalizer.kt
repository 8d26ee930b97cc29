// Applies the normalization of a SentencePiece model, which changes characters and white space.
//
// Characters are replaced according to a table in the model, a double-array trie over UTF-8 (Aoe 1989,
// in the layout of the library darts-clone), so the result does not depend on the host's Unicode.

package translation

internal const val SPACE = "\u2581"
private const val REPLACEMENT = "\ufffd"
private const val TABLE = 2 // fields of NormalizerSpec
private const val DUMMY_PREFIX = 3
private const val EXTRA_SPACES = 4
private const val ESCAPED = 5

/** A piece of a text, and the bytes from which it was read. */
internal class Part(val text: String, val size: Int)

/** A normalized text, and the position in the input, in bytes, of each of its characters and of its end. */
internal class Normalized(val text: String, val places: List<Int>)

/** Decode the character at a position in UTF-8; U+FFFD with one byte for an invalid byte. */
internal fun characterAt(bytes: ByteArray, start: Int): Part {
    val lead = bytes[start].toInt() and 255
    if (lead < 0x80) return Part(lead.toChar().toString(), 1)
    val (size, least) =
        when (lead) {
            in 0xc2..0xdf -> 2 to 0x80
            in 0xe0..0xef -> 3 to 0x800
            in 0xf0..0xf4 -> 4 to 0x10000
            else -> return Part(REPLACEMENT, 1)
        }
    if (start + size > bytes.size) return Part(REPLACEMENT, 1)
    var point = lead and (0xff shr (size + 1))
    for (next in start + 1 until start + size) {
        val byte = bytes[next].toInt()
        if (byte and 0xc0 != 0x80) return Part(REPLACEMENT, 1)
        point = (point shl 6) or (byte and 63)
    }
    val good = point in least..0x10ffff && point !in 0xd800..0xdfff
    return if (good) Part(String(Character.toChars(point)), size) else Part(REPLACEMENT, 1)
}

/** Decode bytes that may be invalid UTF-8 to characters. */
internal fun lenientText(bytes: ByteArray): String = buildString {
    var place = 0
    while (place < bytes.size) {
        val character = characterAt(bytes, place)
        append(character.text)
        place += character.size
    }
}

/** A table of replacements, which finds the longest match at a position. */
private class CharacterTable(bytes: ByteArray) {
    private val units: IntArray
    private val texts: ByteArray // each ends with a zero byte

    init {
        require(bytes.size >= 4) { "the table of characters is cut off" }
        val size = littleEndian(bytes, 0)
        require(size in 4..(bytes.size - 4)) { "the table of characters is cut off" }
        units = IntArray(size / 4) { littleEndian(bytes, 4 + 4 * it) }
        texts = bytes.copyOfRange(4 + size, bytes.size)
    }

    fun match(bytes: ByteArray, start: Int): Part? {
        var node = offset(units[0])
        var found: Part? = null
        for (end in start until bytes.size) {
            val byte = bytes[end].toInt() and 255
            node = node xor byte
            val unit = units.getOrNull(node) ?: break
            if (unit and LABEL != byte) break
            node = node xor offset(unit)
            if (unit and LEAF != 0) found = textAt(units.getOrElse(node) { 0 } and Int.MAX_VALUE, end + 1 - start)
        }
        return found
    }

    private fun offset(unit: Int) = (unit ushr 10) shl ((unit and 512) ushr 6)

    private fun textAt(first: Int, size: Int): Part {
        var end = minOf(first, texts.size)
        while (end < texts.size && texts[end] != 0.toByte()) ++end
        return Part(texts.decodeToString(minOf(first, end), end), size)
    }

    private companion object {
        const val LABEL = 0x800000ff.toInt()
        const val LEAF = 256
    }
}

/**
 * The rules of a NormalizerSpec.
 *
 * `symbolAt(text, start)` returns a symbol to keep unchanged, or "". It is null if there are no symbols.
 */
internal class Normalizer(spec: Message, private val symbolAt: ((String, Int) -> String)?) {
    private val table = spec.bytes(TABLE)?.takeIf { it.isNotEmpty() }?.let(::CharacterTable)
    private val space = if (spec.flag(ESCAPED, true)) SPACE else " "
    val dummyPrefix = spec.flag(DUMMY_PREFIX, true)
    val removesSpaces = spec.flag(EXTRA_SPACES, true)
    val replaces = table != null

    /** Normalize bytes that may be invalid UTF-8. */
    fun normalize(bytes: ByteArray): Normalized {
        var parts = parts(bytes)
        if (removesSpaces) parts = parts.dropWhile { it.text == " " }
        if (parts.isEmpty()) return Normalized("", listOf(0))
        var place = bytes.size - parts.sumOf { it.size }
        val places = ArrayList<Int>(parts.size + 2)
        val text = StringBuilder(if (dummyPrefix) space else "")
        var afterSpace = removesSpaces
        for (part in parts) {
            val kept = if (afterSpace) part.text.trimStart(' ') else part.text
            if (kept.isNotEmpty()) {
                text.append(kept.replace(" ", space))
                afterSpace = kept.endsWith(' ')
            }
            afterSpace = afterSpace && removesSpaces
            while (places.size < text.length) places += place
            place += part.size
        }
        places += place
        if (!removesSpaces) return Normalized(text.toString(), places)
        return Normalized(text.toString().trimEnd(space[0]), places) // even a mark in the input itself
    }

    /** Split a text to symbols, replacements and characters. */
    private fun parts(bytes: ByteArray): List<Part> {
        val symbols = symbolAt?.let { Symbols(bytes, it) }
        val parts = ArrayList<Part>(bytes.size)
        var place = 0
        while (place < bytes.size) {
            val part = symbols?.at(place) ?: table?.match(bytes, place) ?: characterAt(bytes, place)
            parts += part
            place += part.size
        }
        return parts
    }
}

/** Finds symbols at positions of bytes, which are decoded once. */
private class Symbols(bytes: ByteArray, private val symbolAt: (String, Int) -> String) {
    private val places = IntArray(bytes.size) { -1 } // byte that begins a character -> position in the text
    private val text = buildString {
        var place = 0
        while (place < bytes.size) {
            val character = characterAt(bytes, place)
            places[place] = length
            val bad = character.size == 1 && bytes[place] < 0
            append(if (bad) "\ud800" else character.text) // never part of a symbol
            place += character.size
        }
    }

    fun at(place: Int): Part? {
        if (places[place] < 0) return null
        val symbol = symbolAt(text, places[place]).ifEmpty { return null }
        return Part(symbol, symbol.encodeToByteArray().size)
    }
}
