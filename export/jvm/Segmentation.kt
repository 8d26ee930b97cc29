// Splits a normalized text into pieces, by byte-pair encoding or a unigram model.

package translation

import java.util.PriorityQueue

private const val UNKNOWN_PENALTY = 10f
private const val SYMBOL_PENALTY = 0.1

/** A pair of adjacent pieces that may be merged. */
private class Merge(val left: Int, val right: Int, val piece: String, val score: Float)

/**
 * Merge pieces by byte-pair encoding (Sennrich et al. 2016): the best pair first, and the leftmost of
 * equal pairs. Frozen pieces are never merged. `score` returns the score of a piece, or null.
 */
internal fun merged(characters: List<String>, frozen: List<Boolean>, score: (String) -> Float?): List<String> {
    val pieces = characters.toMutableList()
    val before = IntArray(pieces.size) { it - 1 }
    val after = IntArray(pieces.size) { it + 1 }
    val merges = PriorityQueue(compareByDescending<Merge> { it.score }.thenBy { it.left })
    fun consider(left: Int, right: Int) {
        if (left < 0 || right >= pieces.size || frozen[left] || frozen[right]) return
        val piece = pieces[left] + pieces[right]
        score(piece)?.let { merges += Merge(left, right, piece, it) }
    }
    for (right in 1 until pieces.size) consider(right - 1, right)
    while (true) {
        val merge = merges.poll() ?: break
        val (left, right) = merge.left to merge.right
        if (pieces[left].isEmpty() || pieces[right].isEmpty()) continue // one of them has already been merged
        if (pieces[left].length + pieces[right].length != merge.piece.length) continue
        pieces[left] = merge.piece
        pieces[right] = ""
        after[left] = after[right]
        if (after[right] < pieces.size) before[after[right]] = left
        consider(before[left], left)
        consider(left, after[left])
    }
    return pieces.filter { it.isNotEmpty() }
}

/**
 * Finds the most probable split of a text by a unigram model (Kudo 2018) with the Viterbi algorithm, in float32.
 *
 * `known` maps pieces to ids; the `symbols` among them are user-defined. `scores` has the scores of all
 * ids, and `normal` the scores of normal pieces.
 */
internal class Unigram(
    private val known: Map<String, Int>,
    private val symbols: Set<String>,
    private val scores: FloatArray,
    normal: List<Float>,
) {
    private val longest = known.keys.maxOfOrNull { it.length } ?: 0
    private val unseen = (normal.minOrNull() ?: Float.MAX_VALUE) - UNKNOWN_PENALTY
    private val highest = maxOf(normal.maxOrNull() ?: 0f, LEAST)

    fun bestPath(text: String): List<String> {
        val best = FloatArray(text.length + 1)
        val starts = IntArray(text.length + 1) { -1 }
        fun reach(end: Int, start: Int, score: Double) {
            val candidate = (score + best[start]).toFloat() // same ties as in float32
            if (starts[end] >= 0 && candidate <= best[end]) return
            best[end] = candidate
            starts[end] = start
        }
        var start = 0
        while (start < text.length) {
            val width = Character.charCount(text.codePointAt(start))
            var single = false
            for (end in start + 1..minOf(text.length, start + longest)) {
                val piece = text.substring(start, end)
                val id = known[piece] ?: continue
                reach(end, start, if (piece in symbols) symbolScore(piece) else scores[id].toDouble())
                single = single || end - start == width
            }
            if (!single) reach(start + width, start, unseen.toDouble())
            start += width
        }
        val ends = generateSequence(text.length) { starts[it] }.takeWhile { it > 0 }
        return ends.map { text.substring(starts[it], it) }.toList().asReversed()
    }

    private fun symbolScore(piece: String): Double =
        (piece.encodeToByteArray().size * highest).toDouble() - SYMBOL_PENALTY

    private companion object {
        const val LEAST = 1.17549435e-38f // the smallest normal float32, where the library's maximum starts
    }
}
