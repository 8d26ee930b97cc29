// Reads an exported .tflite file: the model, followed by a zip archive and the seal of both.

package translation

import java.io.File
import java.io.FileInputStream
import java.io.FileNotFoundException
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.security.MessageDigest

private const val SEAL = 64 // bytes at the end: the comment of the archive
private const val DIRECTORY_END = 22 // sizes of the archive's records in bytes
private const val ENTRY = 46
private const val HEADER = 30

/** A use of a file; `demand` says what the file must be. */
enum class Use(val demand: String) {
    TEXTS("A .tflite file to translate with must contain its vocabulary, and be unchanged since its export."),
    ARRAYS("A .tflite file of arrays must be from a Keras model, and unchanged since its export."),
}

/**
 * The contents of a file; `path` is its name in errors, and `content` all of its bytes.
 *
 * Throws InputError if the file has changed since its export, or lacks something that its use needs.
 */
class TfliteFile(val path: String, content: ByteBuffer, private val use: Use = Use.TEXTS) {
    /** All bytes of the file, beginning at position 0. */
    val content: ByteBuffer = content.duplicate().order(ByteOrder.LITTLE_ENDIAN)

    /** Positions of the packed files, by name. */
    private val files: Map<String, IntRange>

    /** The card, the content of `card.json`. */
    val card: Map<*, *>

    init {
        try {
            require(isSealed()) { "its last 64 bytes are not its sha256" }
            files = directory()
            card = parseJson(file("card.json").decodeToString()) as? Map<*, *> ?: mapOf<String, Any>()
            if (use == Use.TEXTS) checkVocabularies() else checkSignatures()
        } catch (error: IllegalArgumentException) {
            throw unusable(error)
        } catch (error: IndexOutOfBoundsException) {
            throw unusable(IllegalArgumentException("its archive is damaged"))
        }
    }

    private fun unusable(error: Exception) =
        InputError(
            "${use.demand} Received: path=${quoted(path)} (${error.message}). Copy it again, or write it with " +
                "export_litert."
        )

    private fun isSealed(): Boolean {
        if (content.limit() < SEAL + DIRECTORY_END) return false
        val sealed = content.duplicate().apply { limit(content.limit() - SEAL) }
        val digest = MessageDigest.getInstance("SHA-256").apply { update(sealed) }.digest()
        return digest.joinToString("", transform = ::hexadecimal) == text(content.limit() - SEAL, SEAL)
    }

    /** Find the packed files, which are not compressed, in the archive's directory. */
    private fun directory(): Map<String, IntRange> = buildMap {
        val end = content.limit() - SEAL - DIRECTORY_END
        require(text(end, 4) == "PK\u0005\u0006" && short(end + 20) == SEAL) { "it has no archive" }
        var entry = content.getInt(end + 16)
        repeat(short(end + 10)) {
            require(text(entry, 4) == "PK\u0001\u0002") { "its archive is damaged" }
            val size = content.getInt(entry + 24)
            val stored = short(entry + 10) == 0 && content.getInt(entry + 20) == size
            require(stored) { "its archive is compressed" }
            val header = content.getInt(entry + 42)
            val first = header + HEADER + short(header + 26) + short(header + 28)
            require(size >= 0 && first >= 0 && size <= content.limit() - first) { "its archive is damaged" }
            val name = short(entry + 28)
            put(text(entry + ENTRY, name), first until first + size)
            entry += ENTRY + name + short(entry + 30) + short(entry + 32)
        }
    }

    private fun checkSignatures() {
        val signatures = card["tensors"] as? Map<*, *>
        require(!signatures.isNullOrEmpty()) { "its card.json does not describe a Keras model" }
    }

    private fun checkVocabularies() {
        val names = card["vocabularies"] as? Map<*, *>
        require(card["verb"] is String && names != null) { "its card.json does not say how to run it" }
        require(card["max_source_length"] is Long) { "its card.json has no max_source_length" }
        require("target" in names) { "it lacks the target vocabulary" }
        require(names.values.all { it in files }) { "it lacks a vocabulary that its card.json names" }
    }

    /** Return the bytes of a packed file. */
    fun file(name: String): ByteArray {
        val place = requireNotNull(files[name]) { "it lacks $name" }
        return bytes(place.first, place.last + 1 - place.first)
    }

    /** Return the vocabulary for a side, "source" or "target". Throws InputError if the file has none. */
    fun vocabulary(side: String): SentencePiece {
        val name = (card["vocabularies"] as Map<*, *>)[side] as? String
        if (name == null) {
            throw InputError(
                "A file for text must contain the vocabulary of the $side. Received: path=${quoted(path)} " +
                    "without one. Use read_files.py for images and sound, and translate.mjs for ink."
            )
        }
        try {
            return SentencePiece(file(name))
        } catch (error: IllegalArgumentException) {
            throw InputError(
                "A .tflite file must contain vocabularies that SentencePiece can load. Received: " +
                    "path=${quoted(path)} with an invalid ${quoted(name)} (${error.message}). Export it again."
            )
        }
    }

    /** Return a positive integer in the card or in a part of it; `otherwise` if it is missing. */
    fun setting(name: String, most: Int, otherwise: Int? = null, within: Map<*, *> = card): Int {
        val number = within[name] ?: otherwise?.toLong()
        if (number is Long && number in 1..most) return number.toInt()
        throw InputError(
            "`$name` of a card must be an integer from 1 to $most. Received: another one. Export the model again."
        )
    }

    private fun short(place: Int) = content.getShort(place).toInt() and 0xffff

    private fun text(place: Int, size: Int) = bytes(place, size).decodeToString()

    private fun bytes(place: Int, size: Int): ByteArray {
        if (place < 0 || size > content.limit() - place) throw IndexOutOfBoundsException()
        return ByteArray(size).also { content.duplicate().apply { position(place) }.get(it) }
    }

    companion object {
        /** Read a file to memory that the garbage collector does not move, for LiteRT. Throws InputError. */
        fun read(path: String, use: Use = Use.TEXTS): TfliteFile = TfliteFile(path, direct(path), use)

        private fun direct(path: String): ByteBuffer =
            try {
                FileInputStream(File(path)).channel.use { channel ->
                    val size = channel.size()
                    if (size > Int.MAX_VALUE) throw FileNotFoundException("(it is larger than 2 GiB)")
                    ByteBuffer.allocateDirect(size.toInt()).apply {
                        while (hasRemaining() && channel.read(this) >= 0) continue
                        flip()
                    }
                }
            } catch (error: IOException) {
                throw InputError(
                    "A file must be readable. Received: ${quoted(path)}: ${reason(error)}. Correct the name."
                )
            }
    }
}

/** Return the system's reason in the message of an error, "... (No such file or directory)". */
internal fun reason(error: IOException): String =
    error.message.orEmpty().substringAfterLast('(').removeSuffix(")")
