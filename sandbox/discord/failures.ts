import { json, type FakeReply } from '../fake.ts'

/** An error of Discord. */
export function failure(status: number, code: number, message: string): FakeReply {
  return json(status, { message, code })
}

/** An error of a field. */
export function invalid(field: string, message: string): FakeReply {
  const errors = { [field]: { _errors: [{ code: 'BASE_TYPE_MAX_LENGTH', message }] } }
  return json(400, { message: 'Invalid Form Body', code: 50_035, errors })
}
