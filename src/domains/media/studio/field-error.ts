/** An entry of `errors` in the reply `validation_failed`. */
export interface FieldError {
  readonly path: string
  readonly code: string
  readonly message: string
}
