// Reads protocol buffers as far as SentencePiece models need it, and numbers in bytes.

package translation

/**
 * A message, whose fields are accessed by their numbers.
 *
 * Throws IllegalArgumentException if the bytes are not a valid message.
 */
internal class Message(private val bytes: ByteArray) {
    private val fields = mutableMapOf<Int, MutableList<Any>>() // each a Long or a ByteArray
    private var place = 0

    init {
        while (place < bytes.size) {
            val key = varint()
            val value: Any =
                when ((key and 7).toInt()) {
                    0 -> varint()
                    1 -> slice(8)
                    2 -> slice(varint())
                    5 -> slice(4)
                    else -> throw IllegalArgumentException("a field has no known type")
                }
            fields.getOrPut((key ushr 3).toInt()) { mutableListOf() } += value
        }
    }

    /** Return the number in a field, or the last one if there are several. */
    fun number(field: Int, otherwise: Int): Int = (last(field) as? Long)?.toInt() ?: otherwise

    fun flag(field: Int, otherwise: Boolean): Boolean = (last(field) as? Long)?.let { it != 0L } ?: otherwise

    /** Return the float32 in a field, or 0 if there is none. */
    fun float(field: Int): Float {
        val four = (last(field) as? ByteArray)?.takeIf { it.size == 4 } ?: return 0f
        return Float.fromBits(littleEndian(four, 0))
    }

    fun bytes(field: Int): ByteArray? = last(field) as? ByteArray

    fun text(field: Int): String? = bytes(field)?.decodeToString()

    fun message(field: Int): Message = Message(bytes(field) ?: byteArrayOf())

    fun messages(field: Int): List<Message> =
        fields[field].orEmpty().filterIsInstance<ByteArray>().map(::Message)

    private fun last(field: Int): Any? = fields[field]?.last()

    private fun varint(): Long {
        var value = 0L
        for (shift in 0..63 step 7) {
            require(place < bytes.size) { "a number is cut off" }
            val byte = bytes[place++].toLong()
            value = value or ((byte and 127) shl shift)
            if (byte >= 0) return value
        }
        throw IllegalArgumentException("a number has more than 64 bits")
    }

    private fun slice(size: Long): ByteArray {
        require(size in 0..(bytes.size - place)) { "a field is cut off" }
        place += size.toInt()
        return bytes.copyOfRange(place - size.toInt(), place)
    }
}

/** Read a little-endian 32-bit integer at a position. */
internal fun littleEndian(bytes: ByteArray, place: Int): Int =
    (3 downTo 0).fold(0) { number, byte -> (number shl 8) or (bytes[place + byte].toInt() and 255) }

/** Return the two hexadecimal digits of a byte. */
internal fun hexadecimal(byte: Byte): String = (byte.toInt() and 255).toString(16).padStart(2, '0')
