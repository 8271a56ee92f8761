import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { isolatedDeclarationSync } from 'rolldown/experimental'
import { api } from '../../../src/registry/api.ts'
import { walk } from '../../../src/core/operation.ts'
import { VERSION } from '../../../src/config/version.ts'
import { chatDeclarations, narrowChange } from './chat.ts'
import { routeDeclarations } from './routes.ts'
import { TypeWriter } from './type-writer.ts'

/**
 * Builds the package into `dist`: one script without dependencies, and declarations that do not need the server's
 * sources. The client's own modules are declared from their sources. The server's types that they use are written out from
 * its schemas.
 */

const SOURCES = fileURLToPath(new URL('../../../src', import.meta.url))
const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const DIST = join(PACKAGE, 'dist')

checkVersion()
rmSync(DIST, { recursive: true, force: true })
const modules = await bundle(join(SOURCES, 'sdk/index.ts'))
const declarations = new Map([...written(), ...modules.map((path) => [path, declarationOf(path)] as const)])
checkImports(declarations)
for (const [path, text] of declarations) write(path.replace(/\.ts$/, '.d.ts'), text)

/** The versions must be equal, because the package works with the server of its version. */
function checkVersion(): void {
  const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as { version: string }
  if (version !== VERSION)
    throw new Error(`packages/client has version ${version}, the server ${VERSION}: make them equal`)
}

/** @returns the modules in the script, relative to the sources */
async function bundle(input: string): Promise<string[]> {
  const build = await rolldown({ input, platform: 'neutral', logLevel: 'warn' })
  const { output } = await build.write({ file: join(DIST, 'index.js'), format: 'esm' })
  await build.close()
  const found = output[0].moduleIds.map((path) => relative(SOURCES, path).replaceAll('\\', '/'))
  return [...new Set(['sdk/index.ts', ...found])].filter((path) => !path.startsWith('\0'))
}

/** The declarations that replace modules of the server, by their paths. */
function written(): Map<string, string> {
  const writer = new TypeWriter()
  narrowChange(writer)
  const routes = routeDeclarations(walk(api), writer)
  const chat = chatDeclarations(writer)
  return new Map([
    ['sdk/routes.ts', routes],
    ['domains/talk/chat/schemas.ts', chat],
    ['schemas.ts', writer.declarations()],
  ])
}

function declarationOf(path: string): string {
  const { code, errors } = isolatedDeclarationSync(path, readFileSync(join(SOURCES, path), 'utf8'))
  if (errors.length > 0) throw new Error(`src/${path}: ${errors.map(({ message }) => message).join('; ')}`)
  return code
}

/** The package does not contain the server, so no declaration may import a module of it. */
function checkImports(all: ReadonlyMap<string, string>): void {
  for (const [path, text] of all) {
    for (const [, name = ''] of text.matchAll(/^(?:import|export)\b[^;'"]*\bfrom ["']([^"']+)["']/gm)) {
      const target = join(dirname(path), name).replaceAll('\\', '/')
      if (!name.startsWith('.') || !all.has(target)) {
        throw new Error(`src/${path} imports ${name}, which is not part of the package`)
      }
    }
  }
}

function write(path: string, text: string): void {
  const file = join(DIST, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text.replaceAll(/(from ["']\.[^"']*)\.ts(["'])/g, '$1.js$2'))
}
