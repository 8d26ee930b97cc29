// One screen with a text and its translations below, best first. This file was never run in this project.

package translation.android

import android.app.Activity
import android.os.Bundle
import android.widget.Button
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.TextView
import java.nio.ByteBuffer
import java.util.concurrent.Executors
import translation.TfliteFile
import translation.Translator

private const val ASSET = "translator.tflite"

class MainActivity : Activity() {
    private val worker = Executors.newSingleThreadExecutor() // only this thread uses the translator
    private var translator: Translator? = null // used only by the worker

    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        val typed = EditText(this).apply { hint = "Text" }
        val answer = TextView(this).apply { setTextIsSelectable(true) }
        val button = Button(this).apply { text = "Translate" }
        button.setOnClickListener { translate(typed.text.toString(), answer) }
        val screen = LinearLayout(this)
        screen.orientation = LinearLayout.VERTICAL
        screen.fitsSystemWindows = true
        listOf(typed, button, answer).forEach(screen::addView)
        setContentView(screen)
    }

    private fun translate(text: String, answer: TextView) =
        worker.execute {
            val shown =
                try {
                    opened().suggest(text).joinToString("\n") { it.text } // one text if the file has no lists
                } catch (error: Exception) { // a missing asset, or a model that LiteRT rejects
                    error.message ?: error.toString()
                }
            runOnUiThread { answer.text = shown }
        }

    private fun opened(): Translator =
        translator
            ?: run {
                val content = assets.open(ASSET).use { it.readBytes() }
                val file = TfliteFile(ASSET, ByteBuffer.wrap(content))
                translatorOf(file, AndroidModel(assets, ASSET)).also { translator = it }
            }

    /** Open the translator, which closes the model later. If the translator rejects the model, close it here. */
    private fun translatorOf(file: TfliteFile, model: AndroidModel): Translator =
        try {
            Translator(file, model)
        } catch (error: Exception) {
            model.close()
            throw error
        }

    override fun onDestroy() {
        worker.execute { translator?.close() }
        worker.shutdown()
        super.onDestroy()
    }
}
