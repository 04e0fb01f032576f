// The Copy buttons of the Connect page. Without JavaScript, or without leave to write the clipboard, the text stays selectable.

for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  if (!source) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const done = await copy(source);
    const status = document.getElementById("status");
    if (status) status.textContent = done ? "Copied." : "Press Ctrl+C to copy what is selected.";
    button.firstChild.data = done ? "Copied" : "Selected";
    setTimeout(() => (button.firstChild.data = "Copy"), 2000);
  });
}

async function copy(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(source);
    return false;
  }
}
