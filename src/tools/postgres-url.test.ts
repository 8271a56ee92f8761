import { expect, test } from 'vitest'
import { postgresUrl } from './postgres-url.ts'

test('names one server', () => {
  expect(postgresUrl('postgres://ada:p%40ss@db:5432/crier?sslmode=require')).toEqual({
    urls: ['postgres://ada:p%40ss@db:5432/crier?sslmode=require'],
    hosts: 'db:5432',
    database: 'crier',
  })
})

test('names several servers, each with the user, database and parameters', () => {
  const { urls, hosts } = postgresUrl('postgresql://ada:x@one:5432,[::1]:5433/crier?target_session_attrs=primary')
  expect(hosts).toBe('one:5432, [::1]:5433')
  expect(urls).toEqual([
    'postgresql://ada:x@one:5432/crier?target_session_attrs=primary',
    'postgresql://ada:x@[::1]:5433/crier?target_session_attrs=primary',
  ])
})

test.each([
  ['mysql://db/crier', 'must begin with postgres:// or postgresql://'],
  ['postgres://u:secret@one:x,two/crier', 'must be a URL. "one:x" is not a host with a port'],
  ['postgres://one,two/crier?target_session_attrs=any', 'target_session_attrs must be read-write or primary, not any'],
])('says what is wrong with %s', (text, message) => {
  expect(() => postgresUrl(text)).toThrow(message)
})
