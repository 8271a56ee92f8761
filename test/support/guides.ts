import { readFileSync } from 'node:fs'

/**
 * The code blocks of a page in `docs`, unchanged.
 * @param language what follows the three backticks, such as `js` or `sh backup`
 */
export function codeBlocks(file: string, language: string): string[] {
  const text = readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8')
  // Blocks in lists are indented.
  const blocks = [...text.matchAll(/^( *)```([^\n]+)\n(.*?)^\1```$/gms)]
  return blocks
    .filter(([, , info]) => info === language)
    .map(([, indent = '', , code = '']) => code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
}
