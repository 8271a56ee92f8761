/** A rendering cannot be made, and another attempt would fail in the same way. The message is for users. */
export class RenderError extends Error {
  override readonly name = 'RenderError'
}
