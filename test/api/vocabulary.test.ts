import { expect, test } from 'vitest'
import { api } from '../../src/registry/api.ts'
import { walk } from '../../src/core/operation.ts'
import { eventTypes } from '../../src/registry/events.ts'
import { openApiText } from '../../src/pages/documents.ts'
import { asyncApiText } from '../../src/pages/socket-pages.ts'
import { DOMAINS } from '../../src/registry/domains.ts'
import { socketProtocol } from '../../src/server/front-end.ts'
import { PLATFORMS } from '../../src/platforms/registry.ts'
import { optionsName } from '../../src/platforms/options-schema.ts'
import { VERSION } from '../../src/config/version.ts'

/** Checks both API documents against the vocabulary in CONTRIBUTING.md. */

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
}

interface Use {
  readonly name: string
  /** The schema, operation or message that uses it. */
  readonly where: string
  readonly schema: Schema
  readonly document: Document
}

type Document = Readonly<Record<string, unknown>>

const operations = walk(api)
const documents = [
  JSON.parse(
    openApiText(operations, { version: VERSION, domains: DOMAINS, events: [...eventTypes.values()] }),
  ) as Document,
  JSON.parse(asyncApiText(socketProtocol({ operations }))) as Document,
]
/** The options of a platform have the platform's own names. */
const optionSchemas = new Set(PLATFORMS.map(optionsName))
const uses = documents
  .flatMap((document) => usesIn(document, document, ''))
  .filter(({ where }) => !optionSchemas.has(where))

/** @param isQuery whether the node is the query of a call over a socket */
function usesIn(document: Document, node: unknown, where: string, isQuery = false): Use[] {
  if (node === null || typeof node !== 'object') return []
  if (Array.isArray(node)) return node.flatMap((item) => usesIn(document, item, where))
  const { operationId, parameters, properties } = node as {
    readonly operationId?: string
    readonly parameters?: readonly { readonly name?: string; readonly schema?: Schema }[]
    readonly properties?: Readonly<Record<string, Schema>>
  }
  const here = where === 'webhooks' ? where : (operationId ?? where)
  const found: Use[] = []
  for (const { name, schema } of Array.isArray(parameters) ? parameters : [])
    if (name && schema) found.push({ name, where: here, schema: filtered(name, schema), document })
  for (const [name, schema] of Object.entries(properties ?? {}))
    found.push({ name, where: here, schema: isQuery ? filtered(name, schema) : schema, document })
  const areNamed = where === 'schemas' || where === 'messages'
  for (const [key, value] of Object.entries(node)) {
    if (key === 'example' || key === 'examples') continue
    const inner = areNamed || ['schemas', 'messages', 'webhooks'].includes(key) ? key : here
    found.push(...usesIn(document, value, inner, key === 'query' || key === 'filter'))
  }
  return found
}

/** A filter takes several values of the field that it has the name of. */
function filtered(name: string, schema: Schema): Schema {
  return schema.type === 'array' && schema.items && !name.endsWith('Ids') ? schema.items : schema
}

const byName = (one: string, two: string) => (one < two ? -1 : 1)

/** The JSON type of a schema. Ignores null and treats integers as numbers. Undefined when anything is allowed. */
function typeOf({ document, schema }: Pick<Use, 'document' | 'schema'>): string | undefined {
  if (schema.$ref) {
    const target = schema.$ref
      .split('/')
      .slice(1)
      .reduce<unknown>((here, key) => (here as Record<string, unknown>)[key], document)
    return typeOf({ document, schema: target as Schema })
  }
  if (schema.anyOf) {
    const options = new Set(schema.anyOf.map((option) => typeOf({ document, schema: option })))
    options.delete('null')
    return options.size === 0 ? 'null' : [...options].map(String).sort(byName).join(' or ')
  }
  // A figure with its source counts as the figure.
  if (schema.properties && Object.keys(schema.properties).sort().join() === 'seen,source,value')
    return typeOf({ document, schema: schema.properties['value'] as Schema })
  if (schema.const !== undefined) return typeof schema.const
  if (schema.enum) return 'string'
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type
  if (type === 'array') return `array of ${typeOf({ document, schema: schema.items ?? {} }) ?? 'anything'}`
  return type === 'integer' ? 'number' : (type as string | undefined)
}

/** Names with two types, each with its reason. */
const TWO_TYPES: Readonly<Record<string, string>> = {
  keys: 'a JWK set lists keys (RFC 7517), and a push subscription has them by name (Push API)',
  status: 'the contract has it as the flag of every envelope; in a problem (RFC 9457) it is the HTTP status',
  message: 'the contract has it in every envelope; a change of a channel carries a whole message',
  body: 'the contract has it as the text of a message; over a socket it is the body of a request',
  data: 'the contract has it in every envelope; an event and a job carry what is their own',
  path: 'the parameters of a request over a socket, a JSON pointer, the path of a folder or of a relayed stream',
  attachments: 'the contract has it as ids in a request; a reply shows them whole',
  thread: 'of a post it is the parts that follow; of a message it is the thread that it begins',
  media: 'a request may send ids; a reply shows objects',
  mentions: 'the contract has it as ids at a comment; a message has them with a flag for the whole channel',
  platforms: 'the contract has it for the destinations of a stream and for names of platforms',
  scopes: 'the catalogue describes each scope',
  email: 'the contract has it as a channel of notifications, beside `inApp` and `push`',
  version: 'of the server program in the replies about its health',
  video: 'counted by kind in the storage usage',
  audio: 'counted by kind in the storage usage',
  renditions: 'counted by kind in the storage usage',
  workspaces: 'limited by number in a plan',
  groups: 'limited by number in a plan',
  roles: 'limited by number in a plan',
  tags: 'limited by number in a plan',
  month: 'the price of a month in a plan; a calendar month in the streaming usage',
  from: 'the beginning of a range: of time in lists, of seconds in a trim; the contract has it for an author, too',
  to: 'the end of a range',
  rule: 'the contract has it as `any`, `all` or a number in a stage of approval; elsewhere it is the name of a rule',
  comment: 'a text in a decision; the contract has it as a kind of notifications',
  history: 'the flag in the query has the name of the field that it adds',
  size: 'of a picture, by name, in its path',
  value: 'any figure',
  warnings: 'of a post and a relay they have codes; of a node they are sentences for its operator',
  changes: 'of a channel they are a list; of a post they are a difference by fields',
  events: 'the contract has it as names of events in a webhook; missed events are shown whole',
  before: 'the contract has it as the idea beside which another one is placed; in a log it is a number',
  after: 'the contract has it as the idea beside which another one is placed; in a log it is a number',
  pages: 'of a list it is their number; of a studio project they are its pages',
  values: 'by field of a template; of an option of a platform they are a list of choices',
  queue: 'of a post it is the wish for the next free slot; of a job it is the queue of the job',
}

/** Differences between versions: each field has the name of the one that it compares, and another type. */
const DIFFERENCES = /^Post(Changes|TargetChange|TargetsChange|ThreadPartChange|MediaChange|ListChange|TimeChange)$/

test('a name has one type everywhere, except those listed with a reason', () => {
  const types = new Map<string, Map<string, Set<string>>>()
  for (const use of uses) {
    if (DIFFERENCES.test(use.where)) continue
    const type = typeOf(use)
    if (type === undefined || type === 'null') continue
    const byType = types.get(use.name) ?? types.set(use.name, new Map()).get(use.name)
    const places = byType?.get(type) ?? byType?.set(type, new Set()).get(type)
    places?.add(use.where)
  }
  const clashes = new Map([...types].filter(([, byType]) => byType.size > 1))
  const unexplained = [...clashes]
    .filter(([name]) => TWO_TYPES[name] === undefined)
    .map(
      ([name, byType]) => `${name}: ${[...byType].map(([type, at]) => `${type} (${[...at].join(', ')})`).join('; ')}`,
    )
  expect(unexplained).toEqual([])
  const outdated = Object.keys(TWO_TYPES).filter((name) => !clashes.has(name))
  expect(outdated, 'exceptions that nothing needs any more').toEqual([])
})

/** Lists of values with two names, each with its reason. */
const TWO_NAMES: Readonly<Record<string, string>> = {
  // The encoder that was selected, beside the one that is live; and the one before it.
  'inputSelected source': 'the selected input, and the live one',
  'previou source': 'the previous input, and the present one',
  'kind type': 'the contract has `type` for the filter of listAssets',
  // `nextPlan` is the plan that follows. The contract has `planName` in requests.
  'name nextPlan plan planName': 'the contract has `plan` in a subscription',
  '_id name': 'the id of a built-in role is its name',
  'ownVote value': 'the contract has `value` in a vote',
  'name size': 'the size of a picture in a path',
}

test('a list of values has one name everywhere, singular or plural', () => {
  const names = new Map<string, Set<string>>()
  for (const { name, schema } of uses) {
    const values = schema.enum ?? schema.items?.enum ?? schema.anyOf?.find((option) => option.enum)?.enum
    if (values === undefined) continue
    const key = values.map(String).sort(byName).join()
    names.set(key, (names.get(key) ?? new Set()).add(name.replace(/s$/, '').replace(/^statu$/, 'status')))
  }
  const clashes = [...names]
    .filter(([, given]) => given.size > 1 && TWO_NAMES[[...given].sort().join(' ')] === undefined)
    .map(([values, given]) => `${[...given].join(', ')}: ${values}`)
  expect(clashes).toEqual([])
})

/** Words to avoid, with the one to use instead. */
const AVOIDED: Readonly<Record<string, string>> = {
  id: '`_id` in the resource itself, `<resource>Id` in a reference',
  ids: '`<resource>Ids`',
  by: '`actorId`, or `<what was done>By`',
  actor: '`actorId`',
  uploadedBy: '`createdBy`',
  invitedBy: '`inviter`',
  creator: '`createdBy`',
  more: '`hasMore`',
  next: '`nextCursor`',
  problem: '`error`',
  failure: '`error`',
  state: '`status`',
  remoteAddress: '`ip`',
  mimeType: '`type`',
  contentType: '`type`',
  fileType: '`type`',
  online: '`presence`',
  unread: '`unreadCount`',
}

/** Exceptions, by operation or schema, with the reason. */
const KEPT: Readonly<Record<string, string>> = {
  'state AiJob': 'the contract has it for jobs',
  'state Job': 'the contract has it for jobs',
  'state getQueueJobs': 'the contract has it for jobs',
  'state cleanQueue': 'the contract has it for jobs',
  'state job.finished': 'the contract has it for jobs',
  'state Upload': 'the contract has it for uploads',
  'state SignInLink': 'the parameter of OAuth (RFC 6749)',
  'state oauthCallback': 'the parameter of OAuth (RFC 6749)',
  'state atprotoCallback': 'the parameter of OAuth (RFC 6749)',
  'fileType TicketAttachment': 'the contract has it for attachments',
  'id TicketAttachment': 'the contract has it beside `_id`',
  'fileType ChatAttachment': 'the contract has it for attachments',
  'id webhooks': 'a message of Standard Webhooks',
  'ids deleteAssets': 'the contract has it',
  'ids deletePosts': 'the contract has it',
  'ids resolveAssets': 'the contract has it',
  'actor AuditEntry': 'who did it, with name and address; as an id it is `actorId`',
  'actor PostVersion': 'who did it, with name and address; as an id it is `actorId`',
  'actor PostComment': 'who did it, with name and address; as an id it is `actorId`',
  'actor IdeaComment': 'who did it, with name and address; as an id it is `actorId`',
  'next updateBroadcast': 'a command: go to the next file',
}

test('avoided words are not used', () => {
  const found = uses
    .filter(({ name, where }) => Object.hasOwn(AVOIDED, name) && KEPT[`${name} ${where}`] === undefined)
    // The contract names the id in a path.
    .filter(
      ({ name, where }) =>
        !(
          name === 'id' &&
          operations.some((op) => [op.name, `call.${op.name}`].includes(where) && op.pattern.includes('{id}'))
        ),
    )
    .map(({ name, where }) => `${where}.${name}: use ${AVOIDED[name] ?? ''}`)
  expect([...new Set(found)]).toEqual([])
})

test('suffixes match types: By and Id, Ids, At, Count, Seconds and Bytes', () => {
  for (const use of uses) {
    if (/[a-z](By|Id)$/.test(use.name)) expect(typeOf(use), `${use.where}.${use.name}`).toBe('string')
    if (/[a-z]Ids$/.test(use.name)) expect(typeOf(use), `${use.where}.${use.name}`).toBe('array of string')
    if (/[a-z](Count|Seconds|Bytes)$/.test(use.name)) expect(typeOf(use), `${use.where}.${use.name}`).toBe('number')
    if (/[a-z]At$/.test(use.name) && use.name !== 'startAt')
      expect(['string', 'null'], `${use.where}.${use.name}`).toContain(typeOf(use))
  }
})

/** Allowed second words of event names. */
const HAPPENED =
  /^(created|updated|deleted|added|removed|moved|left|resent|revoked|accepted|declined|finished|change|read|typing|progress|warning|tested|restored)$/

test('an event name is a resource and what happened to it', () => {
  for (const { data, name } of eventTypes.values()) {
    const [resource = '', happened = '', ...rest] = name.split('.')
    expect(rest, name).toEqual([])
    expect(resource, name).toMatch(/^[a-z][A-Za-z]*(?<!s)$|^diagnosis$/)
    expect(happened, name).toMatch(HAPPENED)
    // A deleted event carries the id, or several.
    if (happened === 'deleted') {
      const fields = Object.keys((data as Schema).properties ?? {})
      expect(
        fields.some((field) => field === `${resource}Id` || field === `${resource}Ids`),
        name,
      ).toBe(true)
    }
  }
})

test('an id in an event names its resource', () => {
  const ids = new Map<string, Set<string>>()
  for (const { data, name } of eventTypes.values())
    for (const field of Object.keys((data as Schema).properties ?? {}))
      if (field === 'destinationId' || field === 'rtmpDestinationId')
        ids.set(field, (ids.get(field) ?? new Set()).add(name.split('.')[0] ?? ''))
  expect([...(ids.get('destinationId') ?? [])].sort()).toEqual(['destination', 'diagnosis'])
  expect([...(ids.get('rtmpDestinationId') ?? [])]).toEqual(['rtmpDestination'])
})
