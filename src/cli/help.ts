import type { Command, Document, Field, Schema } from './commands.ts'
import { typeOf } from './arguments.ts'

const OPTIONS = `Options of every command
  --json                    print the server's answer as JSON
  --get <field>             print one field of the answer, such as _id or user.email; may be repeated
  --server <url>            the server; otherwise CRIER_URL, the saved login, http://localhost:3000
  --api-key <key>           otherwise CRIER_API_KEY, or the saved login
  --access-token <token>    otherwise CRIER_TOKEN
  --help, -h                what this command takes

Exit codes: 0 done, 1 refused by the server, 2 wrong command line, 3 no answer or a fault of the server`

/** `crier --help`. */
export function generalHelp(document: Document, commands: readonly Command[]): string {
  const domains = [...new Set(commands.map((command) => command.domain))]
  const rows = domains.map((name): [string, string] => [
    name,
    document.tags.find((tag) => tag.name === name)?.description ?? '',
  ])
  return `Usage: crier <domain> <command> [options]

${table(rows)}

  login                     save an access, for the commands that follow
  logout                    forget it

crier <domain> --help lists the commands of a domain.
crier help <domain> <command> describes one command.

${OPTIONS}
`
}

/** `crier streams --help`. */
export function domainHelp(document: Document, commands: readonly Command[], domain: string): string {
  const rows = commands
    .filter((command) => command.domain === domain)
    .map((command): [string, string] => [command.name, command.summary])
  const about = document.tags.find((tag) => tag.name === domain)?.description
  return `${about ? `${about}\n\n` : ''}Usage: crier ${domain} <command> [options]

${table(rows)}

crier ${domain} <command> --help says what a command takes.
`
}

/** `crier streams create --help`. */
export function commandHelp(command: Command): string {
  const path = command.fields.filter((field) => field.in === 'path')
  const flags = command.fields.filter((field) => field.in !== 'path')
  const required = flags.filter((field) => field.required)
  const usage = [
    `crier ${command.domain} ${command.name}`,
    ...path.map((field) => `<${field.flag}>`),
    ...required.map((field) => `--${field.flag} ${placeholder(field.schema)}`.trim()),
    command.upload ? '--file <path>' : '',
    flags.length > required.length || command.body !== 'none' ? '[options]' : '',
  ]
  const rows = command.fields.map((field): [string, string] => [
    `--${field.flag} ${placeholder(field.schema)}`.trim(),
    aboutField(field),
  ])
  if (command.body !== 'none') {
    const names = command.fields.some((field) => field.flag === 'body') ? '--input' : '--input, --body'
    rows.push([`${names} <json>`, 'the whole body: JSON, @file, or - for standard input; flags take precedence'])
  }
  if (command.upload) {
    rows.push(['--file, -f <path>', 'required; the file to send'])
    rows.push(['--type <text>', 'its media type, if the server requires it'])
  }
  if (command.download) rows.push(['--output, -o <path>', 'where to write the file; otherwise standard output'])
  if (command.upload ?? command.download) {
    rows.push(['--progress', 'show the progress on standard error; on by default on a terminal'])
  }
  if (command.takesVersion) rows.push(['--if-match <etag>', 'fail if there is a newer version'])
  if (command.route.startsWith('POST'))
    rows.push(['--idempotency-key <key>', 'repeat the reply of an earlier request with this key'])
  return `${command.summary}

${command.description}

Usage: ${usage.filter(Boolean).join(' ')}
       (${command.route})

${rows.length > 0 ? `${table(rows)}\n\n` : ''}${OPTIONS}
`
}

function aboutField({ required, schema }: Field): string {
  const choices = schema.enum ?? schema.items?.enum
  return [
    required ? 'required' : '',
    schema.description ?? '',
    choices ? `one of ${choices.join(', ')}` : '',
    typeOf(schema) === 'array' ? 'may be repeated' : '',
  ]
    .filter(Boolean)
    .join('; ')
}

function placeholder(schema: Schema): string {
  const type = typeOf(schema)
  if (type === 'boolean') return ''
  if (type === 'integer' || type === 'number') return '<number>'
  return type === 'string'
    ? '<text>'
    : type === 'array'
      ? `<${typeOf(schema.items ?? {}) === 'string' ? 'text' : 'json'}>`
      : '<json>'
}

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(24, ...rows.map(([name]) => (name.length > 34 ? 0 : name.length)))
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd()).join('\n')
}
