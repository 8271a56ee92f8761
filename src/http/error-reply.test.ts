import { expect, test } from 'vitest'
import {
  InternalError,
  NotFound,
  RangeNotSatisfiable,
  RateLimited,
  Unauthorized,
  ValidationFailed,
} from '../core/errors.ts'
import { errorReply, publicError } from './error-reply.ts'

const PROBLEM = 'application/problem+json'
const write = (error: ReturnType<typeof NotFound>, accept = '') => {
  const { body, headers, status } = errorReply(error, accept, 'req-1', 'https://crier.example')
  return { status, headers: Object.fromEntries(headers), body: JSON.parse(body) as unknown }
}
const errors = [{ path: '/body/a', code: 'x', message: 'must be a number' }]

test('the common body names the error, the request and the documentation', () => {
  expect(write(NotFound())).toEqual({
    status: 404,
    headers: { 'Content-Type': 'application/json' },
    body: {
      status: false,
      message: NotFound.message,
      code: 'not_found',
      requestId: 'req-1',
      docUrl: 'https://crier.example/docs/errors#not_found',
    },
  })
})

test('a client that accepts problem+json gets an RFC 9457 problem', () => {
  expect(write(NotFound(), `text/html, ${PROBLEM};q=0.5`)).toEqual({
    status: 404,
    headers: { 'Content-Type': PROBLEM },
    body: {
      type: 'https://crier.example/docs/errors#not_found',
      title: 'Not Found',
      status: 404,
      detail: NotFound.message,
      instance: 'urn:crier:request:req-1',
      code: 'not_found',
    },
  })
})

test.each(['', PROBLEM])('a hint for operators is only sent to administrators (%j)', (accept) => {
  const error = NotFound({ hint: 'Change a setting.' })
  const bodyFor = (isAdmin: boolean) =>
    JSON.parse(errorReply(error, accept, 'req-1', 'https://crier.example', isAdmin).body) as object
  expect(bodyFor(true)).toHaveProperty('hint', 'Change a setting.')
  expect(bodyFor(false)).not.toHaveProperty('hint')
  expect(write(error, accept).body).not.toHaveProperty('hint')
})

test.each(['', PROBLEM])('field errors and details are in both forms (%j)', (accept) => {
  expect(write(ValidationFailed({ errors, details: { limit: 3 } }), accept).body).toMatchObject({
    errors,
    details: { limit: 3 },
  })
})

test.each([
  ['401', Unauthorized(), { 'WWW-Authenticate': 'Bearer' }],
  ['429 with a pause', RateLimited({ retryAfter: 0 }), { 'Retry-After': '0' }],
  ['416', RangeNotSatisfiable({ details: { size: 10 } }), { 'Content-Range': 'bytes */10' }],
])('the headers of %s', (_what, error, headers) => {
  expect(write(error).headers).toEqual({ 'Content-Type': 'application/json', ...headers })
})

test('an error that is not for callers becomes an internal error, which keeps it as its cause', () => {
  const own = NotFound()
  expect(publicError(own)).toBe(own)
  const bug = new TypeError('x is undefined')
  expect(publicError(bug)).toMatchObject({ code: InternalError.code, message: InternalError.message, cause: bug })
})
