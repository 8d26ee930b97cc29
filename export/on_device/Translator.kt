// A translator for Android, from the .tflite file and what is packed inside it.
// Not compiled in this project's tests. Written for com.google.ai.edge.litert:litert 2.3.

package translation

import android.content.res.AssetManager
import com.google.ai.edge.litert.Accelerator
import com.google.ai.edge.litert.CompiledModel
import java.security.MessageDigest
import org.json.JSONObject

private const val END = 3
private const val SEAL = 64 // last bytes of the file: the sha256 of all others

/** `alignment` has a row for each target token, `</s>` included, and a column for each source token. */
class Translation(
    val text: String,
    val score: Float,
    val alignment: List<FloatArray>,
    val finished: Boolean,
)

/**
 * Loads `model`, `card.json` and the vocabularies from the assets. Use it from one thread.
 *
 * Throws IllegalArgumentException if the model is not as it was exported, or a vocabulary is that of
 * another model.
 */
class Translator(assets: AssetManager, model: String, threads: Int = 2, greedy: Boolean = false) :
    AutoCloseable {
    private val signature = if (greedy) "translate_greedy" else "translate"
    private val card = JSONObject(assets.bytes("card.json").decodeToString())
    private val longest = card.getInt("max_source_length")
    private val vocabularies = card.getJSONObject("vocabularies") // the file of each side

    init {
        requireAsExported(assets.bytes(model))
    }

    private val source = SentencePiece(vocabulary(assets, "source"))
    private val target =
        if (vocabularies.getString("target") == vocabularies.getString("source")) source
        else SentencePiece(vocabulary(assets, "target"))

    private val options =
        CompiledModel.Options(Accelerator.CPU).apply {
            cpuOptions = CompiledModel.CpuOptions(numThreads = threads)
        }
    private val compiled = CompiledModel.create(assets, model, options)
    private val input = compiled.createInputBuffer("source", signature)
    private val outputs =
        listOf("ids", "length", "score", "alignment", "finished").associateWith {
            compiled.createOutputBuffer(it, signature)
        }

    private fun requireAsExported(file: ByteArray) {
        require(file.size > SEAL) { "the model is cut off" }
        val sealed = file.copyOf(file.size - SEAL)
        val seal = file.decodeToString(startIndex = sealed.size)
        require(seal == sha256(sealed)) { "the model is damaged, or of an older version" }
        // the card lies uncompressed in the file
        val text = String(file, Charsets.ISO_8859_1)
        require(card.getJSONObject("sha256").getString("model") in text) {
            "card.json is that of another model"
        }
    }

    private fun vocabulary(assets: AssetManager, side: String): ByteArray {
        val name = vocabularies.getString(side)
        val bytes = assets.bytes(name)
        require(sha256(bytes) == card.getJSONObject("sha256").getString(name)) {
            "$name is not that of the model"
        }
        return bytes
    }

    fun translate(sentence: String): Translation {
        var ids = source.encode(sentence)
        if (ids.isNotEmpty()) ids += END
        require(ids.size <= longest) { "at most $longest tokens, received ${ids.size}" }
        input.writeInt(ids.copyOf(longest)) // padded with 0
        compiled.run(mapOf("source" to input), outputs, signature)

        val length = outputs.getValue("length").readInt()[0]
        val found = outputs.getValue("ids").readInt().take(length)
        val weights = outputs.getValue("alignment").readFloat()
        return Translation(
            text = target.decode(found.filter { it != END }.toIntArray()),
            score = outputs.getValue("score").readFloat()[0],
            alignment =
                List(length) { row ->
                    weights.copyOfRange(row * longest, row * longest + ids.size)
                },
            finished = outputs.getValue("finished").readInt()[0] == 1,
        )
    }

    override fun close() {
        input.close()
        outputs.values.forEach { it.close() }
        compiled.close()
        if (target !== source) target.close()
        source.close()
    }
}

private fun AssetManager.bytes(name: String) = open(name).use { it.readBytes() }

private fun sha256(bytes: ByteArray) =
    MessageDigest.getInstance("SHA-256").digest(bytes).joinToString("") { "%02x".format(it) }

/** SentencePiece's C++ library, through `sentencepiece_jni.cc`. Text crosses as UTF-8 bytes. */
class SentencePiece(model: ByteArray) : AutoCloseable {
    private val handle = load(model)

    fun encode(text: String): IntArray = encodeBytes(handle, text.encodeToByteArray())

    fun decode(ids: IntArray): String = decodeIds(handle, ids).decodeToString()

    override fun close() = free(handle)

    private external fun load(model: ByteArray): Long

    private external fun encodeBytes(handle: Long, text: ByteArray): IntArray

    private external fun decodeIds(handle: Long, ids: IntArray): ByteArray

    private external fun free(handle: Long)

    companion object {
        init {
            System.loadLibrary("sentencepiece_jni")
        }
    }
}
