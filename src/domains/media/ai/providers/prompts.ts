import { readFileSync } from 'node:fs'

/** Sentences of an analysis. */
export const MAX_SENTENCES = 12

/** A prompt in a file. A changed prompt is a new file with the next number, so a version always means the same text. */
export interface Prompt {
  /** The name of the file: `caption-1`. */
  readonly version: string
  readonly text: string
}

export const CAPTION_PROMPT = prompt('caption-1')
export const ANALYSIS_PROMPT = prompt('analysis-1')

function prompt(version: string): Prompt {
  return { version, text: readFileSync(new URL(`../prompts/${version}.md`, import.meta.url), 'utf8') }
}

/**
 * Fills in the settings of a workspace. Each becomes a JSON value on one line, so that it cannot add lines.
 * @throws Error for a place without a value
 */
export function fill({ text }: Prompt, values: Readonly<Record<string, unknown>>): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (_place, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`the prompt has a place ${name} without a value`)
    return JSON.stringify(value)
  })
}
