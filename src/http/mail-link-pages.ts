import { readFileSync } from 'node:fs'
import { page, GUARDED } from './page.ts'
import type { Page } from './server.ts'

const FOLDER = new URL('pages/', import.meta.url)

const TYPES = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
} as const

/**
 * Where the links in mails lead: small pages that do what the mail is about by calling the API, for installations
 * without a front end of their own.
 */
export function mailLinkPages(): Page[] {
  return [
    served('/reset-password', 'reset-password.html'),
    served('/invitations/:token', 'invitation.html'),
    ...['api.js', 'reset-password.js', 'invitation.js', 'page.css'].map((file) => served(`/pages/${file}`, file)),
  ]
}

function served(path: string, file: string): Page {
  const type = TYPES[file.split('.').at(-1) as keyof typeof TYPES]
  const content = page(type, readFileSync(new URL(file, FOLDER), 'utf8'), GUARDED)
  return { path, serve: () => content }
}
