import { expect, test } from 'vitest'
import { AppError, defineError, errorTable } from './error.ts'
import { NotFound, ValidationFailed } from './errors.ts'

const field = (path: string) => ({ path, code: 'x', message: 'must be a number' })

test.each([
  ['a field', ['/body/width'], 'The field width must be a number.'],
  ['a field within others', ['/body/size/0/width'], 'The field size.0.width must be a number.'],
  ['a whole part of the request', ['/body'], 'The body must be a number.'],
  [
    'the first of several fields',
    ['/query/a', '/query/b', '/query/c'],
    'The parameter a must be a number (and 2 more).',
  ],
])('the message of a failed validation names %s', (_what, paths, message) => {
  expect(ValidationFailed({ errors: paths.map(field) }).message).toBe(message)
})

test('a reply lists at most 20 invalid fields, and says how many there are', () => {
  const error = ValidationFailed({ errors: Array.from({ length: 1_000 }, (_, index) => field(`/body/f${index}`)) })
  expect(error.errors).toHaveLength(20)
  expect(error.message).toBe('The field f0 must be a number (and 999 more).')
})

test('a custom message takes precedence over the field errors, and these over the message of the table', () => {
  expect(ValidationFailed({ message: 'No.', errors: [field('/body/a')] }).message).toBe('No.')
  expect(ValidationFailed({ errors: [] }).message).toBe(ValidationFailed.message)
  expect(NotFound().message).toBe(NotFound.message)
})

test('an error knows its code and status, and keeps its cause', () => {
  const cause = new Error('why')
  const error = NotFound({ cause, retryAfter: 3, details: { limit: 1 } })
  expect(error).toBeInstanceOf(AppError)
  expect(error).toMatchObject({ code: 'not_found', status: 404, cause, retryAfter: 3, details: { limit: 1 } })
})

test('a code is defined once, with an HTTP status', () => {
  const definition = { message: 'x', cause: 'x', fix: 'x' }
  expect(() => defineError({ ...definition, code: 'not_found', status: 404 })).toThrow('not_found is defined twice')
  expect(() => defineError({ ...definition, code: 'odd', status: 299 })).toThrow('299 is not an HTTP status')
  expect(errorTable().some(({ code }) => code === 'odd')).toBe(false)
})

test('the table is sorted by status, then by code', () => {
  const keys = errorTable().map(({ code, status }) => `${status} ${code}`)
  expect(keys.length).toBeGreaterThan(10)
  expect(keys).toEqual(keys.toSorted())
})
