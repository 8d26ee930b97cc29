// Characters of a source in the place of unknown tokens, with spaces as copying.py writes them.

package translation

private const val UNKNOWN = 1
private const val MOST_BYTES = 512 // of an unknown token that are copied
private const val NO_COPY = "\u2047" // as SentencePiece writes an unknown token
private val WHITE_SPACE = Regex("[\u2581\t\n\u000c\r\\p{Z}]+") // Keras leaves other control characters
private val MARKS = Regex("$SPACE+")
private val ASCII_SPACE = " \t\n\u000b\u000c\r".toCharArray()

/** For each token of a text the characters that it stands for, without spaces, as an unknown token copies them. */
internal fun surfaces(vocabulary: SentencePiece, text: String): List<String> {
    val bytes = text.encodeToByteArray()
    return vocabulary.tokens(bytes).map { token ->
        var end = minOf(token.end, token.begin + MOST_BYTES)
        while (end < token.end && bytes[end].toInt() and 0xc0 == 0x80) --end // to where a character begins
        bytes.decodeToString(token.begin, end).replace(WHITE_SPACE, " ").trim(*ASCII_SPACE)
    }
}

/** The text of ids; unknown ones copy the surface at their position, if there are any; NO_COPY if that is blank. */
internal fun textOf(vocabulary: SentencePiece, ids: List<Int>, copiedFrom: IntArray?, surfaces: List<String>): String {
    val kept = ids.indices.filter { ids[it] !in SPECIAL }
    if (surfaces.isEmpty() || UNKNOWN !in ids) return vocabulary.decode(kept.map(ids::get).toIntArray())
    fun copy(step: Int) = copiedFrom?.getOrNull(step)?.let(surfaces::getOrNull).orEmpty().ifEmpty { NO_COPY }
    return kept
        .joinToString("") { if (ids[it] == UNKNOWN) copy(it) else vocabulary.pieces[ids[it]] }
        .replace(MARKS, " ")
        .trim(*ASCII_SPACE)
}
