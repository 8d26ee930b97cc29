// Runs a model with LiteRT for Android. This file was never run in this project.

package translation.android

import android.content.res.AssetManager
import com.google.ai.edge.litert.Accelerator
import com.google.ai.edge.litert.CompiledModel
import com.google.ai.edge.litert.LiteRtException
import com.google.ai.edge.litert.TensorBuffer
import translation.Model
import translation.Outputs

/** The model of an asset. Throws LiteRtException if LiteRT can't load it. */
class AndroidModel(assets: AssetManager, name: String, threads: Int = 2) : Model {
    private val options =
        CompiledModel.Options(Accelerator.CPU).apply {
            cpuOptions = CompiledModel.CpuOptions(numThreads = threads)
        }
    private val compiled = CompiledModel.create(assets, name, options)
    private val buffers = mutableMapOf<Pair<String, String>, TensorBuffer>() // keys: (signature, tensor)

    @Synchronized
    override fun has(signature: String): Boolean = there { input(signature, "source") }

    @Synchronized
    override fun has(signature: String, output: String): Boolean = there { output(signature, output) }

    @Synchronized
    override fun run(
        signature: String,
        inputs: Map<String, IntArray>,
        ints: List<String>,
        floats: List<String>,
    ): Outputs {
        val given = inputs.mapValues { (name, values) -> input(signature, name).apply { writeInt(values) } }
        val read = (ints + floats).associateWith { output(signature, it) }
        compiled.run(given, read, signature)
        return Outputs(
            ints.associateWith { read.getValue(it).readInt() },
            floats.associateWith { read.getValue(it).readFloat() },
        )
    }

    private fun there(buffer: () -> TensorBuffer): Boolean =
        try {
            buffer()
            true
        } catch (error: LiteRtException) {
            false
        }

    private fun input(signature: String, name: String): TensorBuffer =
        buffers.getOrPut(signature to name) { compiled.createInputBuffer(name, signature) }

    private fun output(signature: String, name: String): TensorBuffer =
        buffers.getOrPut(signature to name) { compiled.createOutputBuffer(name, signature) }

    @Synchronized
    override fun close() {
        buffers.values.forEach { it.close() }
        compiled.close()
    }
}
