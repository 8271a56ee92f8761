/** A file cannot be played. The message is for the person who chose it. */
export class PlayoutError extends Error {
  override readonly name = 'PlayoutError'
}
