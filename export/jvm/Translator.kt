// Runs a .tflite file for text: maps a text to texts and attention. For any JVM, including Android.

package translation

import java.nio.charset.CharacterCodingException

private const val PAD = 0
private const val START = 2
private const val END = 3
internal val SPECIAL = setOf(PAD, START, END)
private const val MOST_TOKENS = 100_000 // limit for a source or target
private const val MOST_HYPOTHESES = 1024
private val FLOATS_OF_TOKENS = listOf("token_log_probs", "token_entropies") // older files lack them
private val INTS_OF_TOKENS = listOf("token_words")

/** Control characters, white space and ignorable characters, such as a byte order mark. */
private val BLANK =
    Regex(
        "[\\x00-\\x20\\x7f-\\xa0\\xad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f" +
            "\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0]*"
    )

/** A model that runs named signatures on named tensors with a batch size of 1. Threads take turns. */
interface Model : AutoCloseable {
    fun has(signature: String): Boolean

    /** Return true if a signature has an output. A runtime that can't tell returns false. */
    fun has(signature: String, output: String): Boolean = false

    /**
     * Run a signature, and return the outputs named in `ints` and `floats`.
     *
     * Inputs have the sizes of the model's tensors. Throws InputError if they don't match the model.
     */
    fun run(signature: String, inputs: Map<String, IntArray>, ints: List<String>, floats: List<String>): Outputs
}

class Outputs(val ints: Map<String, IntArray>, val floats: Map<String, FloatArray>)

/**
 * A text with its log-probability (normalized by length according to the search of the file), and `alignment`, which
 * has a row for each of `tokens` and a column for each of `sourceTokens`. Both end with the end token.
 *
 * `confidence`, 0 to 1, is the probability that the text is correct, if the model is calibrated. Each of `tokens` has
 * its log-probability and the entropy of its distribution, in nats, and the index of its word, from 0, or -1 if it
 * belongs to none. These four are null for older files, which lack them.
 */
class Translation(
    val text: String,
    val score: Float,
    val finished: Boolean,
    val tokens: List<String>,
    val sourceTokens: List<String>,
    val alignment: List<FloatArray>,
    val confidence: Float? = null,
    val tokenLogProbs: FloatArray? = null,
    val tokenEntropies: FloatArray? = null,
    val tokenWords: IntArray? = null,
)

/**
 * A translator in one file, for any number of threads, which take turns in the model. Closing it closes the model.
 *
 * ```
 * val file = TfliteFile.read("en-de.tflite")
 * Translator(file, LiteRtJni(file.content)).use { println(it.translate("A man in a hat.").text) }
 * ```
 *
 * Throws InputError if the file has no source vocabulary.
 */
class Translator(private val file: TfliteFile, private val model: Model) : AutoCloseable {
    private val verb = file.card["verb"] as String
    private val source = file.vocabulary("source")
    private val target = file.vocabulary("target")
    private val search = file.card["search"] as? Map<*, *> ?: mapOf<String, Any>()
    private val copies = search["replace_unknown"] == true // unknown tokens copy characters of the source

    /** Maximum number of source tokens, including the end token. */
    val longest = file.setting("max_source_length", MOST_TOKENS)

    /** Maximum number of texts in a list: the width of the beam, or 1 if there is no signature for lists. */
    val most: Int by lazy {
        val lists = model.has("${verb}_nbest") || model.has("${verb}_prefix")
        if (lists) file.setting("beam_width", MOST_HYPOTHESES, 1, search) else 1
    }

    /** Maximum number of prefix tokens, or 0 if there is no signature for prefixes. */
    val longestPrefix: Int by lazy {
        val longest = file.setting("max_target_length", MOST_TOKENS, MOST_TOKENS)
        val limit = file.setting("max_length", MOST_TOKENS, MOST_TOKENS, search)
        if (model.has("${verb}_prefix")) minOf(longest, limit) else 0
    }

    /** Return the best translation of a text. Throws TooLong if it has more tokens than the file allows. */
    fun translate(text: String): Translation = translations(verb, text).first()

    /** Translate with the best token at each step instead of the search. The file must have this signature. */
    fun translateGreedy(text: String): Translation = translations(signature("_greedy"), text).first()

    /**
     * Return at most `nbest` translations that begin with `prefix`, best first.
     *
     * Throws InputError if the file lacks the signature, or TooLong.
     */
    fun suggest(text: String, nbest: Int = most, prefix: String = ""): List<Translation> {
        checkList(nbest, prefix)
        val listed = nbest > 1 && model.has("${verb}_nbest")
        if (prefix.isEmpty() && (nbest == 1 || listed)) {
            return translations(if (listed) "${verb}_nbest" else verb, text).take(nbest)
        }
        val begun = prefixIds(prefix)
        val inputs = mapOf("prefix" to begun.copyOf(longestPrefix), "prefix_length" to intArrayOf(begun.size))
        return translations(signature("_prefix"), text, inputs).take(nbest)
    }

    /** Throw InputError unless `suggest` accepts these arguments. */
    fun checkList(nbest: Int, prefix: String) {
        if (nbest != 1 && nbest !in 1..most) {
            throw InputError(
                "`nbest` must be from 1 to $most in this file. Received: nbest=$nbest. Use such a number, " +
                    "or export it with the signature nbest or with a wider beam."
            )
        }
        if (prefix.isNotEmpty()) prefixIds(prefix)
    }

    /** Throw InputError unless `translateGreedy` works. */
    fun checkGreedy() {
        signature("_greedy")
    }

    private fun signature(kind: String): String {
        if (model.has(verb + kind)) return verb + kind
        throw InputError(
            "A .tflite file must contain a model that LiteRT can load. Received: path=${quoted(file.path)} " +
                "(without the signature $verb$kind). Export it with --signatures ${kind.drop(1)}."
        )
    }

    private fun prefixIds(prefix: String): IntArray {
        if (prefix.isNotEmpty() && longestPrefix == 0) {
            throw InputError(
                "A file must have a signature for texts with a prefix. Received: path=${quoted(file.path)}, " +
                    "which lacks it. Export it with the signature prefix."
            )
        }
        val ids = encoded(target, prefix)
        if (ids.size <= longestPrefix || prefix.isEmpty()) return ids
        throw TooLong(
            "A prefix may have at most $longestPrefix tokens in this file. Received: ${ids.size} tokens in " +
                "${quoted(shortened(prefix))}. Shorten it, or export with a larger max_target_length.",
            ids.size,
            longestPrefix,
        )
    }

    /** Convert a text to ids with the end token; a blank text has no ids. */
    private fun sourceIds(text: String): IntArray {
        var ids = if (BLANK.matches(text)) intArrayOf() else encoded(source, text)
        if (ids.isNotEmpty()) ids += END
        if (ids.size <= longest) return ids
        throw TooLong(
            "A sentence may have at most $longest tokens in this file. Received: ${ids.size} tokens in " +
                "${quoted(shortened(text))}. Split it, or export with a larger max_source_length.",
            ids.size,
            longest,
        )
    }

    private fun translations(
        signature: String,
        text: String,
        more: Map<String, IntArray> = mapOf(),
    ): List<Translation> {
        val ids = sourceIds(text)
        val lists = signature.endsWith("_nbest") || signature.endsWith("_prefix")
        val (length, score, confidence) = listOf("length", "score", "confidence").map { if (lists) "${it}s" else it }
        val inputs = more + ("source" to ids.copyOf(longest)) // padded with 0
        val known = { output: String -> model.has(signature, output) }
        val copied = listOfNotNull("copied_from".takeIf { copies })
        val ints = listOf("ids", length, "finished") + INTS_OF_TOKENS.filter(known) + copied
        val floats = listOf(score, "alignment") + (FLOATS_OF_TOKENS + confidence).filter(known)
        val outputs = model.run(signature, inputs, ints, floats)
        val lengths = outputs.ints.getValue(length)
        checkSizes(outputs, listOf(score, confidence, "finished"), lengths.size)
        checkSizes(outputs, FLOATS_OF_TOKENS + INTS_OF_TOKENS + copied, outputs.ints.getValue("ids").size)
        val sourceTokens = ids.map { source.pieces[it] }
        val surfaces = if (copies) surfaces(source, text) else listOf()
        val rows = lengths.indices.filter { it == 0 || lengths[it] > 0 } // other rows are empty
        return rows.map { row ->
            val places = places(outputs, row, lengths)
            val tokens = checked(outputs.ints.getValue("ids").slice(places))
            val alignment = weights(outputs, places, sourceTokens.size)
            Translation(
                text = textOf(target, tokens, outputs.ints["copied_from"]?.sliceArray(places), surfaces),
                score = outputs.floats.getValue(score)[row],
                finished = outputs.ints.getValue("finished")[row] == 1,
                tokens = tokens.map { if (it == PAD) "" else target.pieces[it] },
                sourceTokens = sourceTokens,
                alignment = alignment,
                confidence = outputs.floats[confidence]?.get(row),
                tokenLogProbs = outputs.floats["token_log_probs"]?.sliceArray(places),
                tokenEntropies = outputs.floats["token_entropies"]?.sliceArray(places),
                tokenWords = outputs.ints["token_words"]?.sliceArray(places),
            )
        }
    }

    /** Throw InputError unless the outputs that exist among `names` have the expected size. */
    private fun checkSizes(outputs: Outputs, names: List<String>, size: Int) {
        for (name in names) {
            val found = outputs.ints[name]?.size ?: outputs.floats[name]?.size ?: continue
            if (found == size) continue
            throw InputError("A model must return $size numbers as `$name`. Received: $found. Export it again.")
        }
    }

    /** Return the positions of the tokens of a hypothesis, in outputs of K rows of T tokens. */
    private fun places(outputs: Outputs, row: Int, lengths: IntArray): IntRange {
        val time = outputs.ints.getValue("ids").size / lengths.size
        return row * time until row * time + lengths[row].coerceIn(0, time)
    }

    /** Return the weights of tokens for the first `read` columns. */
    private fun weights(outputs: Outputs, places: IntRange, read: Int): List<FloatArray> {
        val weights = outputs.floats.getValue("alignment") // (K, T, columns)
        val columns = weights.size / outputs.ints.getValue("ids").size
        return places.map { weights.copyOfRange(it * columns, it * columns + minOf(columns, read)) }
    }

    private fun checked(ids: List<Int>): List<Int> {
        val other = ids.firstOrNull { it !in target.pieces.indices } ?: return ids
        throw InputError("A model must return ids in its vocabulary. Received: $other. Export it again.")
    }

    override fun close() = model.close()
}

private fun encoded(vocabulary: SentencePiece, text: String): IntArray =
    try {
        vocabulary.encode(text)
    } catch (error: CharacterCodingException) {
        throw InputError(
            "A text must be valid Unicode, without surrogates. Received: " +
                "${quoted(shortened(text))}. Decode its bytes again."
        )
    }
