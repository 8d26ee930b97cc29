// Replaces unknown tokens by characters of the source, with the same spaces as copying.py.

package translation

private const val UNKNOWN = 1
private const val MOST_BYTES = 512 // maximum number of bytes to copy for an unknown token
private const val NO_COPY = "\u2047" // SentencePiece's text for an unknown token
private val WHITE_SPACE = Regex("[\u2581\t\n\u000c\r\\p{Z}]+") // Keras keeps other control characters
private val MARKS = Regex("$SPACE+")
private val ASCII_SPACE = " \t\n\u000b\u000c\r".toCharArray()

/** Return the characters that an unknown token may copy, for each token of a text: its part without spaces. */
internal fun surfaces(vocabulary: SentencePiece, text: String): List<String> {
    val bytes = text.encodeToByteArray()
    return vocabulary.tokens(bytes).map { token ->
        var end = minOf(token.end, token.begin + MOST_BYTES)
        while (end < token.end && bytes[end].toInt() and 0xc0 == 0x80) --end // back to the beginning of a character
        bytes.decodeToString(token.begin, end).replace(WHITE_SPACE, " ").trim(*ASCII_SPACE)
    }
}

/** Convert ids to text. Unknown ids copy the surface at their position, if there are surfaces; NO_COPY for a blank. */
internal fun textOf(vocabulary: SentencePiece, ids: List<Int>, copiedFrom: IntArray?, surfaces: List<String>): String {
    val kept = ids.indices.filter { ids[it] !in SPECIAL }
    if (surfaces.isEmpty() || UNKNOWN !in ids) return vocabulary.decode(kept.map(ids::get).toIntArray())
    fun copy(step: Int) = copiedFrom?.getOrNull(step)?.let(surfaces::getOrNull).orEmpty().ifEmpty { NO_COPY }
    return kept
        .joinToString("") { if (ids[it] == UNKNOWN) copy(it) else vocabulary.pieces[ids[it]] }
        .replace(MARKS, " ")
        .trim(*ASCII_SPACE)
}
