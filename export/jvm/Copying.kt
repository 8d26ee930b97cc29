// Characters of a source in the place of unknown tokens, with spaces as copying.py writes them.

package translation

private const val UNKNOWN = 1
private const val MOST_BYTES = 512 // of an unknown token that are copied
private const val NO_COPY = "\u2047" // as SentencePiece writes an unknown token
private val WHITE_SPACE = Regex("[\u2581\t\n\u000c\r\\p{Z}]+") // Keras leaves other control characters
private val MARKS = Regex("$SPACE+")
private val ASCII_SPACE = " \t\n\u000b\u000c\r".toCharArray()

/**
 * For each token of a text what an unknown one may copy: the characters that it stands for, without spaces. It is
 * null for a token that can't be copied: for those that are known, where others are not.
 */
internal fun surfaces(vocabulary: SentencePiece, text: String): List<String?> {
    val bytes = text.encodeToByteArray()
    val tokens = vocabulary.tokens(bytes)
    val known = tokens.none { it.id == UNKNOWN }
    return tokens.map { token ->
        if (!known && token.id != UNKNOWN) return@map null
        var end = minOf(token.end, token.begin + MOST_BYTES)
        while (end < token.end && bytes[end].toInt() and 0xc0 == 0x80) --end // to where a character begins
        bytes.decodeToString(token.begin, end).replace(WHITE_SPACE, " ").trim(*ASCII_SPACE)
    }
}

/** The text of ids; unknown ones copy the surfaces that they attend to, if there are any. */
internal fun textOf(
    vocabulary: SentencePiece,
    ids: List<Int>,
    alignment: List<FloatArray>,
    surfaces: List<String?>,
): String {
    val kept = ids.indices.filter { ids[it] !in SPECIAL }
    if (surfaces.isEmpty() || UNKNOWN !in ids) return vocabulary.decode(kept.map(ids::get).toIntArray())
    return kept
        .joinToString("") { if (ids[it] == UNKNOWN) copied(alignment[it], surfaces) else vocabulary.pieces[ids[it]] }
        .replace(MARKS, " ")
        .trim(*ASCII_SPACE)
}

/** The surface with the highest weight, the end token's aside; NO_COPY if it is blank, or of weight 0. */
private fun copied(weights: FloatArray, surfaces: List<String?>): String {
    val ofText = weights.indices.take(surfaces.size).filter { surfaces[it] != null }
    val place = ofText.maxByOrNull { weights[it] }?.takeIf { weights[it] > 0f } ?: return NO_COPY
    return surfaces.getOrNull(place).orEmpty().ifEmpty { NO_COPY }
}
