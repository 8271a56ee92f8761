import { type Json, ComponentSchemas } from './openapi-schemas.ts'
import type { EventType } from './event.ts'
import type { NamedOperation } from './operation.ts'
import { ErrorBody, Timestamp, type TSchema } from './schema.ts'
import { eventExample, eventInWords, type SocketMessageType, type SocketProtocol } from './socket-protocol.ts'

const CHANNEL = '#/channels/socket'

/** The AsyncAPI 3 document of the sockets. The output is deterministic: the same declarations give the same text. */
export function asyncApiDocument(protocol: SocketProtocol): Json {
  const { clientMessages, serverMessages, version } = protocol
  const events = protocol.events.toSorted((a, b) => compare(a.name, b.name))
  const calls = protocol.operations.filter((op) => op.socket !== undefined).toSorted((a, b) => compare(a.name, b.name))
  const schemas = new ComponentSchemas()
  for (const schema of [
    ErrorBody,
    ...events.map(({ data }) => data),
    ...[...clientMessages, ...serverMessages].map(({ data }) => data),
    ...calls.flatMap(schemasOf),
  ]) {
    schemas.learn(schema)
  }
  const parts = [
    ...events.map((event) => {
      const words = [event.description, eventInWords(event)].filter(Boolean).join(' ')
      return sent(event.name, event.summary, words, eventMessage(event, schemas), eventExample(event))
    }),
    ...serverMessages.map(({ data, description, example, name, summary }) =>
      sent(name, summary, description, schemas.write(data), example),
    ),
    ...clientMessages.flatMap((message) => received(message, calls, schemas)),
    ...calls.flatMap((op) => callable(op, schemas)),
  ]
  const messages = Object.fromEntries(parts.flatMap((part) => part.messages))
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Crier sockets',
      version,
      description:
        'Messages over socket.io: events, calls of operations, and how a client catches up after a disconnect. Guide: /docs/sockets.',
    },
    defaultContentType: 'application/json',
    servers: {
      crier: {
        host: 'localhost:3000',
        pathname: '/socket.io/',
        protocol: 'ws',
        description: 'The server that serves this document: socket.io (protocol 5) over WebSocket',
        security: [{ $ref: '#/components/securitySchemes/token' }],
      },
    },
    channels: {
      socket: {
        address: '/socket.io/',
        description: 'The only namespace, `/`. The name of a message is the name of the socket.io event.',
        messages: Object.fromEntries(
          Object.keys(messages).map((name) => [name, { $ref: `#/components/messages/${name}` }]),
        ),
      },
    },
    operations: Object.fromEntries(parts.flatMap((part) => part.operations)),
    components: {
      messages,
      schemas: schemas.components(),
      securitySchemes: {
        token: {
          type: 'httpApiKey',
          in: 'header',
          name: 'auth.token',
          description:
            'An access token or an API key, sent in the field `token` of socket.io’s `auth`. It is not a header.',
        },
      },
    },
  }
}

interface Part {
  readonly messages: readonly [string, Json][]
  readonly operations: readonly [string, Json][]
}

const refer = (name: string): Json => ({ $ref: `${CHANNEL}/messages/${name}` })

/** A message that the server sends. */
function sent(name: string, summary: string, description: string, payload: Json, example: unknown): Part {
  return {
    messages: [[name, { name, title: name, summary, description, payload, examples: [{ payload: example }] }]],
    operations: [[`send.${name}`, { action: 'send', channel: { $ref: CHANNEL }, summary, messages: [refer(name)] }]],
  }
}

/** A message that a client sends, with its acknowledgement. */
function received(message: SocketMessageType, calls: readonly NamedOperation[], schemas: ComponentSchemas): Part {
  const { ack, data, description, example, name, summary } = message
  const op = calls.find(({ socket }) => socket === name)
  const reply = ack === 'reply' ? replyOf(op, schemas) : ack === undefined ? undefined : schemas.write(ack)
  return answered(name, summary, description, { ...schemas.write(data), examples: [example] }, reply)
}

/** An operation that clients can run with `call`. */
function callable(op: NamedOperation, schemas: ComponentSchemas): Part {
  const fields = {
    operation: { type: 'string', const: op.name },
    ...(op.path === undefined ? {} : { path: schemas.write(op.path as TSchema) }),
    ...(op.query === undefined ? {} : { query: schemas.write(op.query as TSchema) }),
    ...(op.body === undefined ? {} : { body: schemas.write(op.body as TSchema) }),
    ...(op.method === 'POST' ? { idempotencyKey: { type: 'string' } } : {}),
    ...(op.etag ? { ifMatch: { type: 'string' } } : {}),
  }
  const required = [
    'operation',
    ...(op.path === undefined ? [] : ['path']),
    ...(op.body && !op.bodyOptional ? ['body'] : []),
  ]
  const payload = { type: 'object', properties: fields, required, additionalProperties: false }
  const description = `The same as ${op.route}. See /api/openapi.json.`
  return answered(`call.${op.name}`, op.summary, description, payload, replyOf(op, schemas))
}

function answered(name: string, summary: string, description: string, payload: Json, reply: Json | undefined): Part {
  const isCall = name.startsWith('call.')
  const own = { name: isCall ? 'call' : name, title: name, summary, description, payload }
  const answer = { name: `${name}.reply`, title: `Acknowledgement of ${name}`, payload: reply }
  return {
    messages: [[name, own], ...(reply === undefined ? [] : [[`${name}.reply`, answer] as [string, Json]])],
    operations: [
      [
        `receive.${name}`,
        {
          action: 'receive',
          channel: { $ref: CHANNEL },
          summary,
          messages: [refer(name)],
          ...(reply === undefined ? {} : { reply: { channel: { $ref: CHANNEL }, messages: [refer(`${name}.reply`)] } }),
        },
      ],
    ],
  }
}

/** The schema of `{ status, headers, body }`. Without `operation` schemas, the body is any value. */
function replyOf(op: NamedOperation | undefined, schemas: ComponentSchemas): Json {
  const bodies = op === undefined ? [] : bodiesOf(op).map((schema) => schemas.write(schema))
  return {
    type: 'object',
    required: ['status', 'headers'],
    properties: {
      status: { type: 'integer', description: 'The HTTP status that REST would return' },
      headers: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'The headers that REST would send, with names in lower case',
      },
      body: op === undefined ? {} : { anyOf: [...bodies, schemas.write(ErrorBody)] },
    },
  }
}

function eventMessage({ data, name, stored }: EventType, schemas: ComponentSchemas): Json {
  if (stored === false) return schemas.write(data)
  return {
    type: 'object',
    required: ['seq', 'type', 'workspaceId', 'at', 'data'],
    properties: {
      seq: { type: 'integer', description: 'Sequence number of the event in the workspace' },
      type: { type: 'string', const: name },
      workspaceId: { type: 'string', format: 'uuid' },
      at: schemas.write(Timestamp),
      data: schemas.write(data),
    },
  }
}

function schemasOf(op: NamedOperation): TSchema[] {
  return [op.path, op.query, op.body, ...bodiesOf(op)].filter((schema) => schema !== undefined) as TSchema[]
}

function bodiesOf(op: NamedOperation): TSchema[] {
  const returns = Object.values(op.returns as Record<string, TSchema | null | { contentType: string }>)
  return returns.filter((schema): schema is TSchema => schema !== null && !('contentType' in schema))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : 1
}
