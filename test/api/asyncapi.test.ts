import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { walk } from '../../src/core/operation.ts'
import { eventTypes } from '../../src/registry/events.ts'
import { asyncApiText, socketPages } from '../../src/pages/socket-pages.ts'
import { socketProtocol } from '../../src/server/front-end.ts'

const operations = walk(api)
const protocol = socketProtocol({ operations })
const text = asyncApiText(protocol)

interface Reply {
  readonly messages: readonly { readonly $ref: string }[]
}

interface Message {
  readonly name: string
  readonly payload: {
    readonly properties?: Readonly<Record<string, unknown>>
    readonly required?: readonly string[]
  }
}

interface Document {
  readonly channels: { readonly socket: { readonly messages: Readonly<Record<string, unknown>> } }
  readonly operations: Readonly<Record<string, { readonly action: string; readonly reply?: Reply }>>
  readonly components: {
    readonly messages: Readonly<Record<string, Message>>
    readonly schemas: Readonly<Record<string, object>>
  }
}

const document = JSON.parse(text) as Document

test('is a valid AsyncAPI 3.0 document', () => {
  const path = createRequire(import.meta.url).resolve('@asyncapi/specs/schemas/3.0.0.json')
  // The specification includes the meta-schema of draft 7.
  const ajv = new Ajv({ strict: false, validateFormats: false, meta: false, validateSchema: false })
  const validate = ajv.compile(JSON.parse(readFileSync(path, 'utf8')) as object)
  expect(validate(document), JSON.stringify(validate.errors?.slice(0, 5))).toBe(true)
  expect(validate({ ...document, channels: { socket: { messages: 3 } } })).toBe(false)
})

test('has no dangling references', () => {
  const references = new Set([...text.matchAll(/"\$ref": "#\/([^"]+)"/g)].map((match) => match[1] as string))
  expect(references.size).toBeGreaterThan(20)
  for (const reference of references) {
    const target = reference
      .split('/')
      .reduce<unknown>((here, key) => (here as Record<string, unknown> | undefined)?.[key], document)
    expect(target, reference).toBeDefined()
  }
})

test('lists every event, message and callable operation', () => {
  const { messages } = document.components
  const calls = operations.filter((op) => op.socket !== undefined).map((op) => op.name)
  const names = [
    ...eventTypes.keys(),
    'auth',
    'call',
    'sync',
    'resume',
    'typing',
    'presence',
    'viewing',
    'closing',
    'missed',
  ]
  expect(calls).toContain('syncEvents')
  for (const name of [...names, ...calls.map((call) => `call.${call}`)]) expect(messages[name], name).toBeDefined()
  expect(document.operations['send.presence.updated']?.action).toBe('send')
  expect(document.operations['receive.call.syncEvents']?.action).toBe('receive')
})

test('a message names its acknowledgement where there is one', () => {
  const replies = Object.entries(document.operations).filter(([, { reply }]) => reply !== undefined)
  const answered = replies.map(([name, { reply }]) => {
    const [message] = reply?.messages ?? []
    expect(message?.$ref, name).toBe(`#/channels/socket/messages/${name.replace('receive.', '')}.reply`)
    return name
  })
  expect(answered).toContain('receive.call.syncEvents')
  const messages = Object.keys(document.components.messages).filter((name) => name.endsWith('.reply'))
  expect(answered.map((name) => `${name.replace('receive.', '')}.reply`).toSorted()).toEqual(messages.toSorted())
})

test('only messages with a REST reply have an acknowledgement with status, headers and body', () => {
  const fields = (name: string) => Object.keys(document.components.messages[name]?.payload.properties ?? {})
  expect(fields('sync.reply')).toEqual(['status', 'headers', 'body'])
  expect(document.components.messages['auth.reply']).toBeDefined()
  expect(fields('auth.reply')).not.toContain('headers')
})

test('a message is named like its socket.io event, which is `call` for every operation', () => {
  for (const [key, { name }] of Object.entries(document.components.messages)) {
    const isCall = key.startsWith('call.') && !key.endsWith('.reply')
    expect(name, key).toBe(isCall ? 'call' : key)
  }
})

test.each([
  ['sendMessage', ['operation', 'path', 'body', 'idempotencyKey'], ['operation', 'path', 'body']],
  ['updateChannel', ['operation', 'path', 'body', 'ifMatch'], ['operation', 'path', 'body']],
  ['listMessages', ['operation', 'path', 'query'], ['operation', 'path']],
  ['deleteMessage', ['operation', 'path'], ['operation', 'path']],
])('a call of %s takes the fields of its REST request', (name, fields, required) => {
  const { payload } = document.components.messages[`call.${name}`] as Message
  expect(Object.keys(payload.properties ?? {})).toEqual(fields)
  expect(payload.required).toEqual(required)
  expect(payload.properties?.['operation']).toEqual({ type: 'string', const: name })
})

test('an acknowledgement has the body of the REST reply or an error', () => {
  const bodyOf = (name: string) => document.components.messages[`${name}.reply`]?.payload.properties?.['body']
  const error = { $ref: '#/components/schemas/ErrorResponse' }
  const sync = { $ref: '#/components/schemas/ChatSync' }
  for (const name of ['sync', 'call.syncChannel']) {
    expect(bodyOf(name), name).toEqual({ anyOf: [expect.objectContaining({ type: 'object' }), error] })
    expect(JSON.stringify(bodyOf(name)), name).toContain(JSON.stringify(sync))
  }
  // The reply to `call` depends on the operation that it names.
  expect(bodyOf('call')).toEqual({})
})

test('a stored event has a sequence number around its data; one that is not stored has its data only', () => {
  const fieldsOf = (name: string) => Object.keys(document.components.messages[name]?.payload.properties ?? {})
  expect(fieldsOf('channel.created')).toEqual(['seq', 'type', 'workspaceId', 'at', 'data'])
  expect(eventTypes.get('chat.typing')?.stored).toBe(false)
  expect(fieldsOf('chat.typing')).not.toContain('seq')
})

test('/docs/sockets lists the same names and loads no external resources', async () => {
  const page = socketPages(protocol).find(({ path }) => path === '/docs/sockets')
  const { content, headers } = await page!.serve()
  const html = String(content)
  for (const name of [...eventTypes.keys(), 'resume', 'too_slow', 'credential_expired']) expect(html).toContain(name)
  expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//)
  expect(headers?.['Content-Security-Policy']).toContain("default-src 'none'")
})
