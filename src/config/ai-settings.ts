import { list, optional, text, url } from './setting-readers.ts'

/** Settings of AI: rows of `SETTINGS` in config.ts. */
export const aiSettings = {
  AI_BASE_URL: {
    summary:
      'Address of an OpenAI-compatible API, such as http://127.0.0.1:11434/v1. Requires AI_MODELS. Without it, captions are made without a model',
    fallback: 'off',
    parse: optional(url('http', 'https')),
  },
  AI_API_KEY: { summary: 'Key for AI_BASE_URL', fallback: 'none', secret: true, parse: optional(text) },
  AI_MODELS: {
    summary: 'Models that workspaces can choose, comma-separated. The first one is the default',
    fallback: 'none',
    parse: optional(list),
  },
  AI_TRANSCRIPTION_MODEL: {
    summary:
      'Model at AI_BASE_URL that recognizes speech, such as whisper-1. Without it, transcripts are made only of subtitles that are embedded in files',
    fallback: 'none',
    parse: optional(text),
  },
  AI_WHISPER_MODEL: {
    summary:
      'Path of a model of whisper.cpp (ggml), with which this machine recognizes speech itself, in place of AI_TRANSCRIPTION_MODEL. Requires `npm install --no-save @fugood/whisper.node@1` in the folder of Crier',
    fallback: 'none',
    parse: optional(text),
  },
} as const
