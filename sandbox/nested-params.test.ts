import { expect, test } from 'vitest'
import { nestedParams } from './nested-params.ts'
import { fakeRequest } from './server.ts'

const FIELDS: [string, string][] = [
  ['status', 'Which?'],
  ['media_ids[]', '1'],
  ['media_ids[]', '2'],
  ['poll[options][]', 'Cats'],
  ['poll[options][]', 'Dogs'],
  ['poll[expires_in]', '300'],
  ['media_attributes[][id]', '1'],
  ['media_attributes[][description]', 'One'],
  ['media_attributes[][id]', '2'],
]

const NESTED = {
  status: 'Which?',
  media_ids: ['1', '2'],
  poll: { options: ['Cats', 'Dogs'], expires_in: '300' },
  media_attributes: [{ id: '1', description: 'One' }, { id: '2' }],
}

function read(type: string, body: string) {
  const url = new URL('http://127.0.0.1/')
  return nestedParams(fakeRequest('POST', url, { 'content-type': type }, Buffer.from(body)))
}

test('names of forms are lists, objects and lists of objects', () => {
  const form = new URLSearchParams(FIELDS).toString()
  expect(read('application/x-www-form-urlencoded', form)).toEqual(NESTED)
})

test('fields of multipart forms are read in the same way, without their files', () => {
  const lines = FIELDS.map(
    ([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  ).join('')
  const file = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\nbytes\r\n--b--\r\n'
  expect(read('multipart/form-data; boundary=b', lines + file)).toEqual(NESTED)
})

test('JSON stays as it is, and no name reaches the prototype', () => {
  expect(read('application/json', JSON.stringify(NESTED))).toEqual(NESTED)
  read('application/x-www-form-urlencoded', '__proto__[polluted]=1&a[__proto__][polluted]=1')
  expect({}).not.toHaveProperty('polluted')
})
