/** A file cannot be played. The message is for the user who selected it. */
export class PlayoutError extends Error {
  override readonly name = 'PlayoutError'
}
