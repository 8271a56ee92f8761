import { readFile, rm, writeFile } from 'node:fs/promises'
import { hostname, userInfo } from 'node:os'
import { Compile } from 'typebox/compile'
import type { TSchema } from 'typebox'
import { beforeAll, describe, expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import type { OperationExample } from '../../src/core/openapi.ts'
import { walk, type NamedOperation } from '../../src/core/operation.ts'
import { DOMAINS } from '../../src/registry/domains.ts'
import { eventTypes } from '../../src/registry/events.ts'
import { openApiText } from '../../src/pages/documents.ts'
import { EXAMPLES_FOLDER, recordedExamples } from '../../src/pages/recorded-examples.ts'
import { VERSION } from '../../src/config/version.ts'
import { recordExamples, type Recording } from '../support/example-recorder.ts'

/**
 * The examples of the documentation are requests to a running server and its replies. This test records them again and
 * compares their shapes; `npm run examples` writes them.
 */

/** JSON operations without an example, each with its reason. */
const WITHOUT: Readonly<Record<string, string>> = {
  transcribe: 'needs a video, which test/api/ai-built-in.test.ts has and this test has not',
  deriveStyle: 'needs published posts, which test/api/ai-built-in.test.ts has and this test has not',
  createCryptoInvoice: 'no gateway for coins is configured',
  switchInput: 'needs two encoders on the air, which test/media has and this test has not',
  receiveSupportMail: 'the server takes no mails without SUPPORT_INBOUND_SECRET',
  importAsset: 'fetches a file from another server',
}

const operations = walk(api)
let recording: Recording
let committed: ReadonlyMap<string, OperationExample>

beforeAll(async () => {
  recording = await recordExamples(operations)
  if (process.env['UPDATE_EXAMPLES'] === '1') await write(recording)
  committed = recordedExamples()
}, 300_000)

async function write({ examples }: Recording): Promise<void> {
  for (const domain of Object.keys(api)) {
    const names = operations.filter((op) => op.domain === domain && examples.has(op.name)).map(({ name }) => name)
    const file = new URL(`${domain}.json`, EXAMPLES_FOLDER)
    if (names.length === 0) await rm(file, { force: true })
    else {
      const content = Object.fromEntries(names.sort().map((name) => [name, examples.get(name)]))
      await writeFile(file, `${JSON.stringify(content, null, 2)}\n`)
    }
  }
}

/** The schema of a JSON reply of this status. */
function schemaOf(op: NamedOperation, status: number): TSchema | undefined {
  const returns = (op.returns as Record<number, TSchema | { contentType: string } | null>)[status]
  return returns === null || returns === undefined || 'contentType' in returns ? undefined : returns
}

const hasJson = (op: NamedOperation) =>
  Object.keys(op.returns as object).some((status) => status.startsWith('2') && schemaOf(op, Number(status)))

test('exactly the operations with a JSON reply have an example', () => {
  const lacking = operations.filter((op) => hasJson(op) && committed.get(op.name)?.reply === undefined)
  expect(lacking.map(({ name }) => name).toSorted()).toEqual(Object.keys(WITHOUT).toSorted())
  const names = new Set(operations.map(({ name }) => name))
  expect(
    [...committed.keys()].filter((name) => !names.has(name)),
    'npm run examples',
  ).toEqual([])
})

describe.each(operations.map((op) => [op.name, op] as const))('%s', (name, op) => {
  test('has examples that its schemas accept', () => {
    const { reply, request, status = 0 } = committed.get(name) ?? {}
    const returned = schemaOf(op, status)
    if (reply !== undefined) {
      expect(returned, `a schema for ${status}`).toBeDefined()
      expect(Compile(returned as TSchema).Errors(reply)).toEqual([])
    }
    if (request !== undefined) expect(Compile(op.body as TSchema).Errors(request)).toEqual([])
  })

  test('has a reply with the shape of its example (update with npm run examples)', () => {
    expect(shapeOf(committed.get(name))).toEqual(shapeOf(recording.examples.get(name)))
  })
})

/** The keys and types of a value, without its contents. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (value === null || typeof value !== 'object') return value === null ? null : typeof value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, shapeOf(part)]))
}

test('lists have one or two items', () => {
  for (const [name, { reply }] of committed) {
    const { data } = (reply ?? {}) as { data?: unknown }
    if (Array.isArray(data)) expect([1, 2], name).toContain(data.length)
  }
})

test('examples contain no secrets, addresses or names of the machine', async () => {
  const files = await Promise.all(
    [...new Set(operations.map(({ domain }) => domain))].map((domain) =>
      readFile(new URL(`${domain}.json`, EXAMPLES_FOLDER), 'utf8'),
    ),
  )
  const texts = [...files, JSON.stringify([...recording.examples])]
  expect(recording.secrets.size).toBeGreaterThan(50)
  for (const text of texts) {
    for (const secret of recording.secrets) expect(text).not.toContain(secret)
    expect(text).not.toMatch(/localhost|127\.0\.0\.1|\[?::1\b|\/tmp\/|\/home\/|node_modules/)
    for (const name of [hostname(), userInfo().homedir]) expect(text).not.toContain(`${name}/`)
    // Random-looking words come from the mask or from the operation's own example.
    const random = text.match(/(?<![\w-])(?:crier|crr|crd)_[\w-]+|(?<=signature=|token=)[\w-]+/g) ?? []
    for (const word of random) expect(word).toMatch(/^(?:\w+_)?(?:EXAMPLE)*E?X?A?M?P?L?E?$/)
  }
})

test('ids are well-formed, and of version 7 when the server creates them', () => {
  const ids =
    JSON.stringify([...committed]).match(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g) ?? []
  expect(ids.length).toBeGreaterThan(100)
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('the OpenAPI document shows the examples under their media types', () => {
  const document = JSON.parse(
    openApiText(operations, { version: VERSION, domains: DOMAINS, events: [...eventTypes.values()] }),
  ) as Document
  for (const op of operations) {
    const { reply, request, status = 0 } = committed.get(op.name) ?? {}
    const described = document.paths[op.pattern]?.[op.method.toLowerCase()]
    if (reply !== undefined) expect(described?.responses[status]?.content?.['application/json']?.example).toEqual(reply)
    if (request !== undefined && op.upload === undefined)
      expect(described?.requestBody?.content['application/json']?.example).toEqual(request)
  }
})

type Content = Readonly<Record<string, { readonly example?: unknown }>>

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly requestBody?: { readonly content: Content }
            readonly responses: Readonly<Record<string, { readonly content?: Content }>>
          }
        >
      >
    >
  >
}
