import { listenError, type ListenSettings } from '../../media/listen.ts'

/** Waits for a listener. If the address cannot be bound, the error names the settings. */
export async function explainListening<T>(
  listening: Promise<T>,
  settings: ListenSettings,
  host: string,
  port: number,
): Promise<T> {
  try {
    return await listening
  } catch (error) {
    // The port that could not be bound is not always the one of the setting: the sandbox uses several.
    const { port: taken = port } = error as { port?: number }
    throw listenError(error, { host, port: taken, settings })
  }
}
