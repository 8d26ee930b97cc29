// Reads sound from the visitor: a file, or a recording from the microphone.

import { HOP, RATE, secondsOf } from "./audio_source.mjs";
import { TooLong } from "./pipeline.mjs";
import { soundMap } from "./sound_map.mjs";
import { InputError } from "./tflite_file.mjs";
import { readWav } from "./wav.mjs";

const MOST_BYTES = 2 ** 24;  // limit for a file

export class Entry {
  nothing = "There is no sound. Choose a file, or record one.";
  waiting = "Still loading: your recording is next.";

  constructor(page) {
    Object.assign(this, { page });
    page.sound.addEventListener("change", () => this.keep(null, ""));  // the last input counts
  }

  /** Show the button for recording, if the browser can record. `longest` limits the length of a recording. */
  begin({ longest }) {
    this.longest = longest;
    if (!navigator.mediaDevices?.getUserMedia || !globalThis.MediaRecorder) return;
    this.page.record.hidden = false;
    this.page.record.addEventListener("click", () => this.recorder ? this.recorder.stop() : this.record());
  }

  async record() {
    this.page.record.disabled = true;
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
      this.recorder = new MediaRecorder(stream);
      const parts = [];
      let full = false;
      this.recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
      this.recorder.addEventListener("stop", () => {
        stream.getTracks().forEach((track) => track.stop());
        this.recorder = null;
        this.page.record.textContent = "Record";
        this.recorded(new Blob(parts), full);
      });
      this.recorder.start();
      this.page.record.textContent = "Stop";
      this.keep(null, "Recording.");
      setTimeout((recorder) => {
        full = this.recorder === recorder;
        if (full) recorder.stop();
      }, 1000 * secondsOf(this.longest), this.recorder);
    } catch (error) {
      stream?.getTracks().forEach((track) => track.stop());
      this.recorder = null;
      this.keep(null, `The microphone can't be used: ${error.message ?? error}. Allow it, or choose a file.`);
    } finally {
      this.page.record.disabled = false;
    }
  }

  /** Keep a recording up to the length that the model allows, and tell the visitor if it was cut off. */
  async recorded(blob, full) {
    try {
      const samples = await samplesOf(blob);
      const most = this.longest * HOP;
      const cut = full || samples.length > most;
      const seconds = secondsOf(Math.min(samples.length, most) / HOP).toFixed(1);
      this.page.sound.value = "";
      this.keep(samples.subarray(0, most), `Recorded ${seconds} s.` +
        (cut ? ` It was cut off: this page accepts at most ${secondsOf(this.longest)} s.` : ""));
    } catch (error) {
      this.keep(null, error.message);
    }
  }

  /** Keep samples instead of the previous input, and show a message about them. */
  keep(samples, words) {
    this.samples = samples;
    this.page.problem.hidden = true;  // the problem of the previous input
    this.page.recorded.textContent = words;
  }

  /** Return {samples} at 16 kHz; null if there are none. */
  async given() {
    const [file] = this.page.sound.files;
    if (file && file.size > MOST_BYTES) {
      throw new InputError(`The file is too large: it has ${file.size.toLocaleString("en")} bytes, but this page ` +
        `accepts at most ${MOST_BYTES.toLocaleString("en")}. Shorten it.`);
    }
    const samples = this.samples ?? (file && await samplesOf(file));
    return samples ? { samples } : null;
  }

  async ask(model, given, search) {
    try {
      return await model.read(given, ...search);
    } catch (error) {
      if (!(error instanceof TooLong)) throw error;
      const [has, most] = [error.tokens, error.longest].map(secondsOf);
      throw new InputError(`The recording is too long: it has ${has.toFixed(1)} s, but this page accepts at most ` +
        `${most} s. Shorten it.`);
    }
  }

  map(hypothesis, picture) {
    return soundMap(hypothesis, picture);
  }
}

/** Return the samples of a file or recording at 16 kHz. The browser decodes all files except WAV files at 16 kHz. */
async function samplesOf(blob) {
  const content = await blob.arrayBuffer();
  const wav = readWav(new Uint8Array(content));
  if (wav?.cut) throw new InputError("The file is incomplete: it ends before its sound does. Download it again.");
  if (wav?.rate === RATE) return wav.samples;
  const context = new OfflineAudioContext(1, 1, RATE);  // decodes to its sample rate
  const sound = await context.decodeAudioData(content).catch(() => {
    throw new InputError("The file is not a recording that this browser can read. Choose another one, such as WAV or MP3.");
  });
  const channels = Array.from({ length: sound.numberOfChannels }, (_, channel) => sound.getChannelData(channel));
  return channels[0].map((_, place) => channels.reduce((sum, channel) => sum + channel[place], 0) / channels.length);
}
