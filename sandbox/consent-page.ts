import { escapeHtml } from '../src/tools/html.ts'

/**
 * The consent page of a fake. It posts the parameters back, with `account` (who signs in) and `decision`.
 * @param params the parameters of the request
 */
export function consentPage(
  title: string,
  params: Readonly<Record<string, string>>,
  scopes: readonly string[],
): string {
  const hidden = Object.entries(params).map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sandbox: sign in to ${escapeHtml(title)}</title>
<style>
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 2rem auto; padding: 0 1rem; }
  header { border: 2px dashed; padding: .5rem 1rem; }
</style>
</head>
<body>
<header>This is Crier’s sandbox, not ${escapeHtml(title)}.</header>
<h1>Allow Crier to use your account?</h1>
<form method="post">
${hidden.join('\n')}
<p><label>Account <input name="account" value="sandbox" required pattern="[A-Za-z0-9_.]+"></label></p>
<p>Crier asks for:</p>
<ul>${scopes.map((scope) => `<li><code>${escapeHtml(scope)}</code></li>`).join('')}</ul>
<p><button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Deny</button></p>
</form>
</body>
</html>
`
}
