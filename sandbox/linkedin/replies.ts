import { randomBytes } from 'node:crypto'
import type { FakeReply } from '../fake.ts'

/** An error in LinkedIn’s form. */
export function fault(status: number, code: string, message: string, serviceErrorCode?: number): FakeReply {
  return {
    status,
    headers: { 'X-Li-Uuid': randomBytes(12).toString('base64') },
    body: { status, code, message, ...(serviceErrorCode !== undefined && { serviceErrorCode }) },
  }
}

/** An error of the fields of a request. */
export function inputFault(status: number, code: string, message: string): FakeReply {
  return {
    status,
    headers: { 'X-Li-Uuid': randomBytes(12).toString('base64') },
    body: {
      status,
      message,
      errorDetailType: 'com.linkedin.common.error.BadRequest',
      errorDetails: { inputErrors: [{ code, description: message }] },
    },
  }
}
