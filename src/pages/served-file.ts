import { readFileSync } from 'node:fs'
import { page } from '../http/page.ts'
import type { Page } from '../http/server.ts'

const FOLDER = new URL('static/', import.meta.url)

const TYPES = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
} as const

/** Serves a file of `static/` under a path. */
export function served(path: string, file: string, headers: Record<string, string>): Page {
  const type = TYPES[file.split('.').at(-1) as keyof typeof TYPES]
  const content = page(type, readFileSync(new URL(file, FOLDER), 'utf8'), headers)
  return { path, serve: () => content }
}
