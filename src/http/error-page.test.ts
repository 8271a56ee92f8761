import { expect, test } from 'vitest'
import { Conflict, Forbidden, NotFound } from '../core/errors.ts'
import { errorPage } from './error-page.ts'

test('each error is explained once, below its status, under the anchor that errors link to', () => {
  const { body } = errorPage([Forbidden, NotFound, Conflict, { ...NotFound, code: 'gone_<b>' }])
  const found = [...body.matchAll(/<h2>(\d+ [^<]+)<\/h2>|<section id="([^"]+)">/g)].map(
    ([, status, id]) => status ?? id,
  )
  expect(found).toEqual([
    '403 Forbidden',
    'forbidden',
    '404 Not Found',
    'not_found',
    'gone_&lt;b&gt;',
    '409 Conflict',
    'conflict',
  ])
})
