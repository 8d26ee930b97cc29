// SentencePiece in plain Kotlin: converts text to ids and back, with the same ids as the library.
//
// It reads models of every type: unigram (Kudo 2018), BPE (Sennrich et al. 2016), words and characters,
// with user-defined symbols, byte fallback (Kudo and Richardson 2018) and normalization.

package translation

private const val UNIGRAM = 1 // model types; 4 is characters
private const val BPE = 2
private const val WORDS = 3
private const val NORMAL = 1 // kinds of pieces
private const val UNKNOWN = 2
private const val CONTROL = 3
private const val SYMBOL = 4
private const val UNUSED = 5
private const val BYTE = 6
private const val PIECES = 1 // fields of ModelProto
private const val TRAINER = 2
private const val NORMALIZER = 3
private const val DENORMALIZER = 5
private const val MODEL_TYPE = 3 // fields of TrainerSpec
private const val BYTE_FALLBACK = 35
private const val UNKNOWN_SURFACE = 44

/** A token, and the bytes of the text that it represents: from `begin` up to `end`. */
internal class Token(val id: Int, val begin: Int, val end: Int)

/**
 * A vocabulary; `model` is the content of a .spm or .model file. Any thread may use it.
 *
 * ```
 * val vocabulary = SentencePiece(File("source.spm").readBytes())
 * vocabulary.decode(vocabulary.encode("A man in a hat."))
 * ```
 *
 * Throws IllegalArgumentException if the bytes are not a valid model.
 */
class SentencePiece(model: ByteArray) {
    private val parts = Message(model)
    private val trainer = parts.message(TRAINER)
    private val type = trainer.number(MODEL_TYPE, UNIGRAM)
    private val byteFallback = trainer.flag(BYTE_FALLBACK, false)
    private val unseen = trainer.text(UNKNOWN_SURFACE) ?: " \u2047 "
    private val entries = parts.messages(PIECES)
    private val scores = FloatArray(entries.size) { entries[it].float(2) }
    private val kinds = IntArray(entries.size) { entries[it].number(3, NORMAL) }

    /** The pieces, by id. */
    val pieces: List<String> = entries.map { it.text(1).orEmpty() }

    private val unknown = kinds.indexOf(UNKNOWN)
    private val ids = pieces.withIndex().associate { (id, piece) -> piece to id }
    private val known = ids.filterValues { kinds[it] in setOf(NORMAL, SYMBOL, UNUSED) }
    private val symbols = ids.filterValues { kinds[it] == SYMBOL }.keys
    private val longestSymbol = symbols.maxOfOrNull { it.length } ?: 0
    private val normalizer =
        Normalizer(parts.message(NORMALIZER), if (symbols.isEmpty()) null else ::symbolAt)
    private val denormalizer = Normalizer(parts.message(DENORMALIZER), null) // composes characters
    private val unigram by lazy {
        Unigram(known, symbols, scores, scores.filterIndexed { id, _ -> kinds[id] == NORMAL })
    }

    init {
        require(unknown >= 0) { "the model has no unknown piece" }
        val bytes = pieces.filterIndexed { id, _ -> kinds[id] == BYTE }
        require(bytes.all { it in BYTES }) { "the model has a byte of another name" }
        require(!byteFallback || bytes.toSet() == BYTES.keys) { "the model lacks pieces of bytes" }
    }

    /** The ids of a text, without an end token. */
    fun encode(text: String): IntArray = encode(text.encodeToByteArray(throwOnInvalidSequence = true))

    /** The ids of bytes that need not be UTF-8: each bad byte counts as U+FFFD. */
    fun encode(bytes: ByteArray): IntArray {
        val tokens = tokens(bytes)
        return IntArray(tokens.size) { tokens[it].id }
    }

    /** The same ids, with the bytes that they stand for. */
    internal fun tokens(bytes: ByteArray): List<Token> {
        val found = ArrayList<Token>()
        val normalized = normalizer.normalize(bytes)
        var afterUnknown = false
        var place = 0
        for (piece in split(normalized.text)) {
            val id = ids[piece] ?: unknown
            val begin = normalized.places[place]
            place += piece.length
            val end = normalized.places[place]
            if (id == unknown && byteFallback) {
                val bytesOf = piece.encodeToByteArray() // the last byte represents the character
                bytesOf.mapTo(found) { Token(ids.getValue(byteName(it)), begin, begin) }
                found[found.lastIndex] = Token(found.last().id, begin, end)
            } else if (id == unknown && afterUnknown) { // adjacent unknown pieces become one token
                found[found.lastIndex] = Token(id, found.last().begin, end)
            } else {
                found += Token(id, begin, end)
            }
            afterUnknown = id == unknown
        }
        return found
    }

    /** Split a normalized text into pieces. */
    private fun split(text: String): List<String> {
        if (type == WORDS) return WORD.findAll(text).map { it.value }.toList()
        if (type == UNIGRAM) return unigram.bestPath(text)
        val found = ArrayList<String>(text.length)
        val frozen = ArrayList<Boolean>(text.length)
        var place = 0
        while (place < text.length) {
            val symbol = symbolAt(text, place)
            val width = Character.charCount(text.codePointAt(place))
            found += symbol.ifEmpty { text.substring(place, place + width) }
            frozen += symbol.isNotEmpty()
            place += found.last().length
        }
        return if (type == BPE) merged(found, frozen) { known[it]?.let(scores::get) } else found
    }

    /** Return the longest symbol at a position, or "". */
    private fun symbolAt(text: String, start: Int): String =
        (minOf(text.length, start + longestSymbol) downTo start + 1)
            .firstOrNull { text.substring(start, it) in symbols }
            ?.let { text.substring(start, it) }
            .orEmpty()

    /** Convert ids to text; control ids, such as padding, are left out. */
    fun decode(ids: IntArray): String {
        val text = StringBuilder()
        val bytes = ArrayList<Byte>()
        var begun = false
        fun closeBytes() {
            text.append(lenientText(bytes.toByteArray()))
            bytes.clear()
        }
        for (id in ids) {
            require(id in pieces.indices) { "an id must be below ${pieces.size}. Received: $id" }
            if (kinds[id] == BYTE) {
                bytes += BYTES.getValue(pieces[id])
                continue
            }
            closeBytes()
            if (kinds[id] == CONTROL) continue
            if (id == unknown) {
                text.append(unseen)
                continue
            }
            var piece = pieces[id]
            val first = !begun && text.isEmpty() && (normalizer.dummyPrefix || normalizer.removesSpaces)
            if (first && piece.startsWith(SPACE)) {
                piece = piece.substring(1)
                begun = !normalizer.removesSpaces
            }
            text.append(piece.replace(SPACE, " "))
        }
        closeBytes()
        if (!denormalizer.replaces) return text.toString()
        return denormalizer.normalize(text.toString().encodeToByteArray()).text
    }

    private companion object {
        val WORD = Regex("\u2581?[^\u2581]+|\u2581")
        val BYTES = (0..255).associate { byteName(it.toByte()) to it.toByte() }
    }
}

/** Return the name of the piece for a byte. */
private fun byteName(byte: Byte): String = "<0x${hexadecimal(byte).uppercase()}>"
