import { Compile } from 'typebox/compile'
import { expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { walk } from '../../src/core/operation.ts'
import type { TSchema } from '../../src/core/schema.ts'
import { eventTypes } from '../../src/registry/events.ts'
import { docPage } from '../../src/http/doc-page.ts'
import { fieldRows } from '../../src/pages/schema-words.ts'
import { socketPages } from '../../src/pages/socket-pages.ts'
import { stateTables, statesPage } from '../../src/pages/states-page.ts'
import { socketProtocol } from '../../src/server/front-end.ts'

/** The documents explain every value of a state and every field of an event. */

const operations = walk(api)
const events = [...eventTypes.values()]
const replies = operations.flatMap(({ returns }) => Object.values(returns)) as TSchema[]
const schemas = [...replies, ...events.map(({ data }) => data)]

interface Schema {
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly 'x-enumDescriptions'?: Readonly<Record<string, string>>
}

/** Names of fields that give a state or a reason. */
const SAYS_A_STATE = /^(?:status|state|presence|reason|code|endReason)$/

/** Fields of these names that list values without meanings. */
function unexplained(value: unknown, where: string): string[] {
  if (value === null || typeof value !== 'object') return []
  const { properties = {} } = value as Schema
  const here = Object.entries(properties).flatMap(([name, field]) => {
    const options = [field, ...(field.anyOf ?? [])].filter((option) => option.enum !== undefined)
    return SAYS_A_STATE.test(name) && options.some((option) => option['x-enumDescriptions'] === undefined)
      ? [`${where}.${name}`]
      : []
  })
  return [...here, ...Object.entries(value).flatMap(([key, part]) => unexplained(part, `${where}.${key}`))]
}

test('every value of a state in replies and events is described', () => {
  expect(operations.flatMap((op) => unexplained(op.returns, op.name))).toEqual([])
  expect(events.flatMap((event) => unexplained(event.data, event.name))).toEqual([])
  for (const { title, 'x-enumDescriptions': meanings } of stateTables(schemas)) {
    for (const meaning of Object.values(meanings)) expect(meaning, title).toMatch(/^[A-Z`].{2,}[^.]$/)
  }
})

test('/docs/states lists all states', () => {
  const html = String(docPage(statesPage(schemas)).content)
  const tables = stateTables(schemas)
  expect(tables.map(({ title }) => title)).toEqual(
    expect.arrayContaining([
      'StreamStatus',
      'DestinationStatus',
      'DestinationFaultCode',
      'JobState',
      'UploadState',
      'MediaStatus',
      'Presence',
    ]),
  )
  for (const { title, 'x-enumDescriptions': meanings } of tables) {
    expect(html).toContain(`<section id="${title}">`)
    for (const value of Object.keys(meanings)) expect(html).toContain(`<code>${value}</code>`)
  }
})

test.each(events.map((event) => [event.name, event] as const))('%s has an example and meanings', (name, event) => {
  expect([...Compile(event.data).Errors(event.example)]).toEqual([])
  for (const [field, , meaning] of fieldRows(event.data)) expect(meaning, `${name}: ${field}`).not.toBe('')
})

test('/docs/sockets shows the fields and an example of every event', async () => {
  const page = socketPages(socketProtocol({ operations })).find(({ path }) => path === '/docs/sockets')
  const html = String((await page!.serve()).content)
  for (const event of events) {
    const [section = ''] = new RegExp(`<section id="${event.name}">.*?</section>`, 's').exec(html) ?? []
    expect(section, event.name).toContain('<pre>{')
    for (const [field = ''] of fieldRows(event.data)) expect(section).toContain(`<code>${field.slice(1, -1)}</code>`)
  }
})
