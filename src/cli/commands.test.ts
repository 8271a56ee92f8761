import { describe, expect, test } from 'vitest'
import { optionsOf, parseArguments } from './arguments.ts'
import { commandsOf, findCommand, kebab, readDocument, shortName } from './commands.ts'
import { commandHelp, domainHelp, generalHelp } from './help.ts'

const document = readDocument()
const commands = commandsOf(document)

test.each([
  ['createStream', 'streams', 'create'],
  ['listStreams', 'streams', 'list'],
  ['getStream', 'streams', 'get'],
  ['goLive', 'streams', 'go-live'],
  ['createRtmpDestination', 'streams', 'create-rtmp-destination'],
  ['listStreamSessions', 'streams', 'list-sessions'],
  ['getStreamingUsage', 'streams', 'get-streaming-usage'],
  ['login', 'auth', 'login'],
  ['getHealth', 'health', 'get'],
  ['listSocialAccounts', 'social-accounts', 'list'],
  ['connectAccount', 'social-accounts', 'connect-account'],
  ['rotateKeys', 'keys', 'rotate'],
])('%s of %s is the command %s', (operation, domain, name) => {
  expect(shortName(operation, domain)).toBe(name)
  expect(findCommand(commands, domain, name)?.operation).toBe(operation)
})

test('every operation is a command, and names are unique within a domain', () => {
  const operations = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map((op) => op.operationId),
  )
  expect(commands.map((command) => command.operation).sort((a, b) => a.localeCompare(b))).toEqual(
    operations.sort((a, b) => a.localeCompare(b)),
  )
  const names = commands.map((command) => `${command.domain} ${command.name}`)
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^[a-z-]+ [a-z]+(-[a-z0-9]+)*$/)
})

test('two operations with the same short name keep their full names', () => {
  expect(findCommand(commands, 'services', 'get-service-status')?.operation).toBe('getServiceStatus')
  expect(findCommand(commands, 'services', 'get-services-status')?.operation).toBe('getServicesStatus')
  expect(findCommand(commands, 'services', 'get-status')).toBeUndefined()
})

test('a command is also found by the full name of its operation', () => {
  expect(findCommand(commands, 'streams', 'createStream')?.name).toBe('create')
  expect(findCommand(commands, 'streams', 'create-stream')?.name).toBe('create')
})

describe.each(commands.map((command) => [`${command.domain} ${command.name}`, command] as const))(
  '%s',
  (name, command) => {
    test('has no field that a common option hides, and no duplicate flags', () => {
      const flags = command.fields.map((field) => field.flag)
      expect(new Set(flags).size).toBe(flags.length)
      for (const flag of flags) {
        expect(Object.keys(optionsOf(command))).not.toContain(flag)
        expect(flag).toBe(kebab(flag))
      }
    })

    test('accepts each field by flag, in kebab-case and in camelCase, and its whole body', () => {
      const file = command.upload ? ['--file', 'a.png'] : []
      const given = [...file, ...command.fields.flatMap((field) => [`--${field.flag}`, ...sample(field.schema)])]
      const camel = [...file, ...command.fields.flatMap((field) => [`--${field.name}`, ...sample(field.schema)])]
      const parsed = parseArguments(command, given)
      expect(parseArguments(command, camel)).toEqual(parsed)
      const body = parsed.body ?? {}
      const found = [...Object.keys(parsed.path), ...Object.keys(parsed.query), ...Object.keys(body)]
      expect(new Set(found)).toEqual(new Set(command.fields.map((field) => field.name)))
      if (command.body !== 'none') {
        const others = command.fields
          .filter((field) => field.in !== 'body')
          .flatMap((field) => [`--${field.flag}`, ...sample(field.schema)])
        expect(parseArguments(command, [...file, ...others, '--input', JSON.stringify(body)]).body).toEqual(body)
      }
    })

    test('has help', () => {
      expect(domainHelp(document, commands, command.domain)).toContain(command.summary)
      const help = commandHelp(command)
      expect(help).toContain(`crier ${name}`)
      for (const field of command.fields) expect(help).toContain(`--${field.flag}`)
      expect(help).not.toContain('undefined')
      expect(help.includes('--file, -f <path>')).toBe(command.upload !== undefined)
      expect(help.includes('--output, -o <path>')).toBe(command.download)
    })
  },
)

test('commands send and receive files if their operations declare it', () => {
  const names = (which: (command: (typeof commands)[number]) => boolean) =>
    commands.filter(which).map((command) => command.operation)
  expect(names(({ upload }) => upload === 'multipart')).toEqual(
    expect.arrayContaining(['uploadAsset', 'uploadChatAttachment']),
  )
  expect(names(({ upload }) => upload === 'raw')).toEqual(['receiveSupportMail', 'putUpload'])
  expect(names(({ download }) => download)).toEqual(expect.arrayContaining(['downloadAsset', 'downloadChatAttachment']))
})

test('the general help lists all domains', () => {
  const help = generalHelp(document, commands)
  for (const { domain } of commands) expect(help).toMatch(new RegExp(`^  ${domain} {2,}\\S`, 'm'))
})

function sample(schema: { readonly type?: unknown; readonly anyOf?: unknown; readonly $ref?: unknown }): string[] {
  const type = Array.isArray(schema.type) ? (schema.type as string[]).find((one) => one !== 'null') : schema.type
  if (type === 'boolean') return []
  if (type === 'integer' || type === 'number') return ['3']
  if (type === 'string') return ['text']
  return type === 'array' ? ['[]'] : ['{}']
}
