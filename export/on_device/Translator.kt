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

/**
 * `alignment` has a row for each target token, `</s>` included, and a column for each source token,
 * or for each few that the encoder joins: `reduction` in the card.
 */
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
    private val best = if (greedy) "translate_greedy" else "translate"
    private val card = JSONObject(assets.bytes("card.json").decodeToString())
    private val longest = card.getInt("max_source_length")
    private val reduction = card.optInt("reduction", 1) // tokens for each column of an alignment
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
    private val signatures = mutableMapOf<String, Signature>() // those in use, by name

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

    /** The best translation of a sentence. */
    fun translate(sentence: String): Translation =
        translations(signature(best, listOf("length", "score")), sentence).first()

    /**
     * Translations that begin with `prefix`, best first: as many as the beam of the file's search is
     * wide, or fewer. The file needs the signature nbest or, with a prefix, prefix.
     */
    fun suggest(sentence: String, prefix: String = ""): List<Translation> {
        val names = listOf("lengths", "scores")
        if (prefix.isEmpty()) return translations(signature("translate_nbest", names), sentence)
        val begun = target.encode(prefix)
        val search = card.getJSONObject("search")
        val most = minOf(card.getInt("max_target_length"), search.getInt("max_length"))
        require(begun.size <= most) { "at most $most tokens of a prefix, received ${begun.size}" }
        val completing = signature("translate_prefix", names, listOf("prefix", "prefix_length"))
        completing.write("prefix", begun.copyOf(most)) // padded with 0
        completing.write("prefix_length", intArrayOf(begun.size))
        return translations(completing, sentence)
    }

    private fun signature(name: String, sizes: List<String>, inputs: List<String> = listOf()) =
        signatures.getOrPut(name) {
            Signature(compiled, name, inputs + "source", sizes + listOf("ids", "alignment", "finished"))
        }

    private fun translations(signature: Signature, sentence: String): List<Translation> {
        var ids = source.encode(sentence)
        if (ids.isNotEmpty()) ids += END
        require(ids.size <= longest) { "at most $longest tokens, received ${ids.size}" }
        signature.write("source", ids.copyOf(longest)) // padded with 0
        signature.run()

        val lengths = signature.ints("length")
        val scores = signature.floats("score")
        val finished = signature.ints("finished")
        val found = signature.ints("ids") // one row after another
        val weights = signature.floats("alignment")
        val time = found.size / lengths.size
        val columns = weights.size / found.size // fewer than tokens if the encoder joins some
        val read = (ids.size + reduction - 1) / reduction
        val rows = lengths.indices.filter { it == 0 || lengths[it] > 0 } // there may be fewer
        return rows.map { row ->
            val tokens = row * time until row * time + lengths[row]
            Translation(
                text = target.decode(found.sliceArray(tokens).filter { it != END }.toIntArray()),
                score = scores[row],
                alignment = tokens.map { weights.copyOfRange(it * columns, it * columns + read) },
                finished = finished[row] == 1,
            )
        }
    }

    override fun close() {
        signatures.values.forEach { it.close() }
        compiled.close()
        if (target !== source) target.close()
        source.close()
    }
}

/** A function of the model, with buffers of its own. */
private class Signature(
    private val compiled: CompiledModel,
    private val name: String,
    inputs: List<String>,
    outputs: List<String>,
) : AutoCloseable {
    private val inputs = inputs.associateWith { compiled.createInputBuffer(it, name) }
    private val outputs = outputs.associateWith { compiled.createOutputBuffer(it, name) }

    fun write(input: String, values: IntArray) = inputs.getValue(input).writeInt(values)

    fun run() = compiled.run(inputs, outputs, name)

    fun ints(output: String): IntArray = output(output).readInt()

    fun floats(output: String): FloatArray = output(output).readFloat()

    /** The buffer of an output; of several texts "length" is "lengths". */
    private fun output(name: String) = outputs[name] ?: outputs.getValue("${name}s")

    override fun close() = (inputs.values + outputs.values).forEach { it.close() }
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
